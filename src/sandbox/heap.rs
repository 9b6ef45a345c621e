//! Memory that this process holds and does not need. The C library gives back the end of a heap alone; a burst of answers leaves holes everywhere,
//! and the process stays as large as it ever was. And the start of a server runs through a large part of its program, most of it once.

#![expect(
    unsafe_code,
    reason = "the C library's heap is trimmed by a call that no crate wraps, and pages are given back by their addresses"
)]

use std::path::Path;

use nix::libc;
use rustix::mm::{Advice, madvise};

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

/// Gives back the pages of this program that were mapped so far: its code and its constants, which are in the file as well. What is needed again
/// is found in the page cache, 64 KiB at a time. Takes less than a millisecond.
///
/// # Source
/// `madvise(2)`, `MADV_DONTNEED`: "subsequent accesses of pages in the range will succeed, but will result in repopulating the memory contents from the
/// up-to-date contents of the underlying mapped file". `proc_pid_smaps(5)`.
#[expect(clippy::disallowed_methods, reason = "the kernel tells by files of this process what it has mapped")]
pub fn release_program() {
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for (start, length) in of_the_file(&maps, &program) {
        // SAFETY: the range is one mapping of the program's own file, so it lives as long as the process. It is not writable, and no page of it
        // differs from the file, so every page reads the same before and after; a page that was never written cannot be lost.
        // JUSTIFICATION: a range is named by its address, which no safe call takes.
        unsafe {
            let _ = madvise(std::ptr::without_provenance_mut(start), length, Advice::LinuxDontNeed);
        }
    }
}

/// The mappings of `program` that hold nothing but what is in its file, as `(start, bytes)`: read-only, and no page of it was ever copied.
fn of_the_file(maps: &str, program: &Path) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut lines = maps.lines().peekable();
    while let Some(line) = lines.next() {
        let mut facts = Vec::new();
        // The facts of a mapping are `Name: value`; its head begins with a range of addresses.
        while let Some(fact) = lines.next_if(|line| line.split_ascii_whitespace().next().is_some_and(|word| word.ends_with(':'))) {
            facts.push(fact);
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [range, "r-xp" | "r--p", _, _, _, path] = words[..] else { continue };
        let is_clean = ["Private_Dirty:", "Shared_Dirty:", "Anonymous:", "Swap:"]
            .iter()
            .all(|name| facts.iter().any(|fact| fact.strip_prefix(name).is_some_and(|value| value.trim() == "0 kB")));
        let bounds = range.split_once('-').and_then(|(from, to)| Some((address(from)?, address(to)?)));
        if let (Some((from, to)), true, true) = (bounds, is_clean, Path::new(path) == program) {
            found.push((from, to.saturating_sub(from)));
        }
    }
    found
}

fn address(text: &str) -> Option<usize> {
    usize::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_only_of_the_program_itself_and_was_never_copied_is_given_back() {
        let one = |rights: &str, dirty: u32, path: &str| {
            format!(
                "1000-3000 {rights} 00000000 fe:00 7458426   {path}\nSize:  8 kB\nRss:  8 kB\nShared_Dirty:  0 kB\nPrivate_Dirty:  {dirty} kB\n\
                 Anonymous:  {dirty} kB\nSwap:  0 kB\nVmFlags: rd ex mr\n"
            )
        };
        let all = |maps: &str| of_the_file(maps, Path::new("/bin/toolgate"));
        let program = "/bin/toolgate";
        assert_eq!(all(&[one("r--p", 0, program), one("r-xp", 0, program)].concat()), [(0x1000, 0x2000); 2]);
        for kept in [one("rw-p", 0, program), one("r--p", 8, program), one("r-xp", 0, "/lib/libc.so.6"), one("r-xp", 0, ""), String::new()]
        {
            assert_eq!(all(&kept), [], "{kept}");
        }
        assert_eq!(all("1000-3000 r-xp 00000000 fe:00 7458426   /bin/toolgate\n"), [], "nothing is known of it");
    }

    #[test]
    fn a_program_goes_on_when_its_pages_were_given_back() {
        let before: Vec<u64> = (0..1000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        release_program();
        assert_eq!(before, (0..1000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>());
        assert_eq!(format!("{:?}", "the constants are there as well".to_uppercase()), "\"THE CONSTANTS ARE THERE AS WELL\"");
    }
}
