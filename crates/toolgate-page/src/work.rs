//! What the readers of pages read of a text, in bytes, counted in tests. Time on a busy machine proves nothing, a count does.

#[cfg(test)]
thread_local! {
    static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that so many bytes were read.
#[inline]
pub(super) fn read(bytes: usize) {
    #[cfg(test)]
    READ.with(|read| read.set(read.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hidden_words;

    fn spent(text: &str) -> usize {
        READ.with(|read| read.set(0));
        let _ = hidden_words(text);
        READ.with(std::cell::Cell::get)
    }

    #[test]
    fn no_page_costs_its_readers_more_than_its_length_times_a_constant() {
        const SIZE: usize = 4 * 1024;
        const MOST: usize = 400;
        for unit in [
            "<a href=",
            "<a ",
            "<!--",
            "<style>.a .b .c{display:none}</style><p class='c'>",
            "<style>",
            "<style>a{b:url(\"",
            "<style>\\",
            "<title>",
            "<iframe></",
            "<p style=\"a:'/*\">",
            "<style>.a{top:0}</style><p class=a>",
            "<i class='a b c' id=d>",
            "<p style='display:none'>",
        ] {
            let text = |size: usize| unit.repeat(size / unit.len() + 1);
            let (short, long) = (spent(&text(SIZE)), spent(&text(4 * SIZE)));
            assert!(long <= MOST * 4 * SIZE, "{unit:?}: {long} bytes read for {}", 4 * SIZE);
            assert!(long <= 6 * short + 64 * 1024, "{unit:?}: four times the text costs {long} after {short}");
        }
    }
}
