/// Does something when dropped: a panic in between releases the lock too.
pub(crate) struct AtLast<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for AtLast<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
