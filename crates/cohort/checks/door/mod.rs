//! The platform layer.

mod cache;
