"""Whether the recommended policy does harm, and what disturbances, changes and delays cost it."""
