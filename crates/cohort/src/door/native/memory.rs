//! Pages straight from the kernel: the locks serve allocators, so they cannot
//! use one.

use super::system::{call, number};

const READ_WRITE: usize = 1 | 2;
const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x02 | 0x20 | 0x4000;
const MADV_WIPEONFORK: usize = 18;

/// Maps `bytes` of zeroes, which cost nothing until they are touched; `None` if
/// the kernel refuses.
#[must_use]
pub fn map_pages(bytes: usize) -> Option<core::ptr::NonNull<u8>> {
    // SAFETY: an anonymous mapping where the kernel pleases disturbs nothing.
    let at = unsafe {
        call(
            number::MMAP,
            [0, bytes, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, usize::MAX, 0],
        )
    };
    if (-4095..=0).contains(&at) {
        return None;
    }
    core::ptr::NonNull::new(at as *mut u8)
}

/// Maps a page that a forked child finds zeroed; `None` if the kernel cannot
/// (before Linux 4.14).
#[must_use]
pub fn page_of_zeroes_in_child() -> Option<core::ptr::NonNull<u8>> {
    const PAGE: usize = 4096;
    let page = map_pages(PAGE)?;
    // SAFETY: the advice concerns the page mapped above and nothing else.
    let result = unsafe {
        call(
            number::MADVISE,
            [page.as_ptr() as usize, PAGE, MADV_WIPEONFORK, 0, 0, 0],
        )
    };
    (result == 0).then_some(page)
}
