//! SQLite opens a database by its path and follows each link on the way itself. Here it opens files beneath a folder that is held already, so that no
//! renamed folder and no link can lead it elsewhere.
//!
//! JUSTIFICATION: SQLite's way to the files of a system is a C structure of functions (<https://www.sqlite.org/c3ref/vfs.html>), and `rusqlite` has no
//! safe form of it.

#![expect(unsafe_code, reason = "a VFS of SQLite is a C structure of functions")]

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::LazyLock;

use rusqlite::ffi::{SQLITE_CANTOPEN, SQLITE_OK, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register};

/// The name of SQLite's functions for Unix without the one that resolves links in a path; none where SQLite has none to begin with.
pub(super) fn vfs() -> Option<&'static CStr> {
    static REGISTERED: LazyLock<bool> = LazyLock::new(register);
    REGISTERED.then_some(NAME)
}

/// The path of a file in a held folder, as [`vfs`] takes it. The kernel resolves the first part to the held folder itself, wherever it is now, and
/// SQLite opens the last name with `O_NOFOLLOW`, also that of a journal beside it.
pub(super) fn path(folder: BorrowedFd<'_>, name: &str) -> String {
    format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())
}

const NAME: &CStr = c"toolgate";

fn register() -> bool {
    // SAFETY: The name is a C string. SQLite gives a pointer to a structure that lives as long as the process, or null.
    let Some(unix) = (unsafe { sqlite3_vfs_find(c"unix".as_ptr()).as_ref() }) else { return false };
    // The other functions read no field that is changed here; they find their own data by `pAppData`, which is copied.
    let own = sqlite3_vfs { pNext: std::ptr::null_mut(), zName: NAME.as_ptr(), xFullPathname: Some(as_written), ..*unix };
    // SAFETY: The structure is leaked, so it lives as long as the process, and nothing else has a reference to it. It does not become the default.
    unsafe { sqlite3_vfs_register(Box::leak(Box::new(own)), 0) == SQLITE_OK }
}

/// `xFullPathname`: the path as it is written.
///
/// # Safety
/// `path` is a C string, and `out` has room for `room` bytes, as SQLite promises.
unsafe extern "C" fn as_written(_: *mut sqlite3_vfs, path: *const c_char, room: c_int, out: *mut c_char) -> c_int {
    // SAFETY: See above.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes_with_nul();
    if usize::try_from(room).is_ok_and(|room| path.len() <= room) {
        // SAFETY: There is room for all of it, and SQLite's buffer is not the path.
        unsafe { std::ptr::copy_nonoverlapping(path.as_ptr().cast(), out, path.len()) };
        SQLITE_OK
    } else {
        SQLITE_CANTOPEN
    }
}
