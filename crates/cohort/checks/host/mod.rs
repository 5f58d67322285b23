//! Locks in the objects of a program.

mod arena;
mod assigned;
mod claim;
mod comers;
mod gate;
mod generation;
mod in_place;
mod inflated;
mod returning;
