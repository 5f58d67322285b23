//! What stands at the door.

mod cache;
