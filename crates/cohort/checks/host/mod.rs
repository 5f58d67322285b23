//! Locks hosted by a program's objects.

mod arena;
mod assigned;
mod claim;
mod comers;
mod gate;
mod generation;
mod in_place;
mod inflated;
mod returning;
mod wide_gate;
