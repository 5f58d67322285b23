//! Room for the greatest possible number of keys.

use cohort_service::gls::{self, Refusal, address};

#[test]
fn room_that_cannot_be_is_not_begun() {
    assert_eq!(gls::reserve(1_000), Ok(()));
    let before = gls::bytes();
    assert!(
        before >= 1_000 / 4 * 64 / 2,
        "{before} bytes for a thousand keys"
    );
    assert_eq!(gls::reserve(usize::MAX), Err(Refusal::NoMemory));
    assert_eq!(gls::bytes(), before, "room was made in vain");
    assert_eq!(address::try_lock(usize::MAX), Ok(()));
    // SAFETY: locked just now, by no guard.
    assert_eq!(unsafe { address::unlock(usize::MAX) }, Ok(()));
}
