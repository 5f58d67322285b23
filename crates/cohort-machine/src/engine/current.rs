//! The machine of the fibers on this host thread, and the suspension of a fiber.
//!
//! The engine is reached through a pointer, and is never borrowed while a fiber is suspended: each
//! call borrows it for one operation.

use super::state::Engine;
use std::cell::Cell;
use std::ptr;

std::thread_local! {
    static CURRENT: Cell<*mut ()> = const { Cell::new(ptr::null_mut()) };
}

/// Makes an engine the host thread's current one until the value is dropped.
#[derive(Debug)]
pub(crate) struct Installed {
    before: *mut (),
}

impl Installed {
    /// # Panics
    /// If an engine is current already: runs cannot be nested.
    pub(crate) fn new(engine: *mut Engine<'_>) -> Self {
        let before = CURRENT.replace(engine.cast());
        assert!(
            before.is_null(),
            "a simulated machine cannot be run inside another"
        );
        Self { before }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Whether a fiber of a simulated machine is running.
#[inline]
#[must_use]
pub fn is_running() -> bool {
    !CURRENT.get().is_null()
}

/// Calls `look` with the current engine, if any.
#[inline]
pub(crate) fn with<R>(look: impl FnOnce(&mut Engine<'_>) -> R) -> Option<R> {
    let engine = CURRENT.get().cast::<Engine<'_>>();
    if engine.is_null() {
        return None;
    }
    // SAFETY: `Installed` keeps the engine alive; only this host thread has the pointer, no callee
    // borrows the engine again, and no borrow lasts while a fiber is suspended.
    Some(look(unsafe { &mut *engine }))
}

/// Suspends the current thread until its next turn.
#[inline]
pub(crate) fn suspend() {
    let fiber = with(|engine| engine.me().fiber).expect("only fibers are suspended");
    // SAFETY: the fiber belongs to the running thread, and its handle lives as long as its stack.
    unsafe { &*fiber }.suspend(());
}

/// [`step`] after the current thread's stores are complete.
#[inline]
pub(crate) fn step_drained<R>(step: impl FnOnce(&mut Engine<'_>) -> R) -> Option<R> {
    if with(|engine| engine.arrive_drained())? {
        suspend();
    }
    with(step)
}

/// Waits for the current thread's turn, and takes a step; no effect outside a run.
#[inline]
pub(crate) fn step<R>(step: impl FnOnce(&mut Engine<'_>) -> R) -> Option<R> {
    if with(|engine| engine.arrive())? {
        suspend();
    }
    with(step)
}
