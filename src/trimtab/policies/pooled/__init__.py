"""Policies that learn several objectives as one."""
