"""Values of tuners as feature flags, for any OpenFeature SDK: OFREP, and flagd's document."""
