"""A control plane of real binaries as local processes."""
