//! Memory that this process has freed and the C library still holds. The library gives back the end of a heap alone; a burst of answers leaves
//! holes everywhere, and the process stays as large as it ever was.

#![expect(unsafe_code, reason = "the C library's heap is trimmed by a call that no crate wraps")]

use nix::libc;

/// Gives the pages of all freed memory back to the kernel. Takes some milliseconds for each hundred megabytes, and holds up whoever allocates
/// meanwhile: not for a thread that answers calls.
///
/// # Source
/// `malloc_trim(3)`.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes a number, touches nothing that is allocated, and may be made by any thread at any time.
    // JUSTIFICATION: another allocator would give memory back by itself, at the price of its own memory at rest (10 MB) in every process.
    unsafe {
        libc::malloc_trim(0);
    }
}
