//! Memory of its own for clients outside of loom: a box.

/// A value in memory of its own.
#[derive(Debug)]
pub struct Kept<T>(Box<T>);

impl<T> Kept<T> {
    /// Keeps `value`.
    pub fn new(value: T) -> Self {
        Self(Box::new(value))
    }
}

impl<T> core::ops::Deref for Kept<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> core::ops::DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
