//! Panics of the decoders, caught without a word on standard error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`; `None` if it panics.
///
/// The decoders return errors for most damage and panic on some. To whoever reads the file both mean the same,
/// so a panic becomes an error, and the panic hook is kept from printing a backtrace over it, on this thread
/// and for this long only.
pub(super) fn catch<T>(decode: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    IS_QUIET.set(false);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none_and_leaves_other_panics_as_they_were() {
        assert_eq!(catch(|| 1), Some(1));
        assert_eq!(catch(|| -> u8 { panic!("not to be seen") }), None);
        assert!(!IS_QUIET.get());
    }
}
