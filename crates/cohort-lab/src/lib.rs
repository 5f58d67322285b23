//! Workloads, measurement and speed bars.
