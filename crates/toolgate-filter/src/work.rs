//! What the filters read of a text: looks back, looks ahead, windows, and whole passes over each view of it, counted in tests. Time on a busy
//! machine proves nothing, a count does.

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
    use crate::{Detectors, WordRules, scan};

    fn spent(text: &str) -> usize {
        READ.with(|read| read.set(0));
        let _ = scan(text, Detectors::ALL, &WordRules::default());
        READ.with(std::cell::Cell::get)
    }

    /// Texts that begin again and again what some filter looks into.
    const HOSTILE: &[&str] = &[
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY----- AAAAAAAAAAAAAAAAAAAAAAAAAAAA ",
        "password=",
        "password = a1!",
        "token=aB3",
        "a://b:c",
        "eyJ.",
        " eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.",
        " xoxb-1",
        "hooks.slack.com/services/",
        "1",
        "1 ",
        "12-",
        "+1 415 555 2671 ",
        "4111 ",
        "a@",
        "@",
        "DE89 ",
        "[a](",
        "](",
        "[a](b",
        "![x](http://e?q=",
        "<a href=",
        "<a ",
        "ignore all previous instructions ",
        "SWdub3JlIGFsbCBwcmV2aW91cw",
        "69676e6f726520",
        "%49",
        "&#73;",
        "\u{e0049}",
        "a\u{200b}",
        "\u{202e}",
        "\u{1b}[",
        "\u{1b}]",
        "а",
        "<!--",
        "<style>.a .b .c{display:none}</style><p class='c'>",
        "<style>",
        "<style>a{b:url(\"",
        "<style>\\",
        "<title>",
        "<iframe></",
        "<p style=\"a:'/*\">",
        "<style>.a{top:0}</style><p class=a>",
        "do not ignore the previous instructions, ",
        "site,password\na,\"b\n\n",
        "a,password\n\"b\"c\n",
        "<i class='a b c' id=d>",
        "<p style='display:none'>",
        "i.g.n.o.r.e.",
        "vtaber nyy cerivbhf ",
        "忽略",
        " -u a:b sig=",
        "vendorKey='",
        "kind: Secret\ndata:\n",
        "\"kind\":\"Secret\",\"data\":{\"a\":",
        "a:$6$b",
        "machine a.b password ",
        ":5432:",
        "*:*:*:b:c\n",
        "\"auth\":\"",
        "aaa1Q~",
        "https://a@",
        "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t",
        " identified by '",
        "docker login -p ",
        "&sig=",
        "_auth=",
        "name: password\n value: a1\n",
        "password:\n ",
        "|password|",
        "password: &str = ",
        "-eyJhbGciOiJIUzI1NiJ9",
        "eyJhbGciOiJIUzI1NiJ9.",
        "_ghp_",
        "\\nxoxb-",
        "card id ",
        "jdbc:a?password=a1&",
        "---- BEGIN SSH2 PRIVATE KEY ----\n",
        "Private-Lines: 9\n",
        "mysql -p",
        "mysql -p'",
        "redis-cli -a ",
        "setPassword(\"",
        "mysql ",
        "sshpass -p a",
        "jdbc:oracle:thin:a",
        "sqlplus a/",
        "Signature=aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3&",
        "?Signature=",
        "insert into t (password) values ('a'),",
        "\"d\":\"aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3\",",
        "a:b@tcp(",
        "\ttrue\t/",
        "auth=('a','",
        "password|",
        "|password|\n|--|\n",
        "**password**",
        "password = b\"",
        "pass\u{200b}word=",
        "name,password\n",
        "password,",
        "password,\"",
        "a,password\n\"b\n",
        "\\u0041",
        "\\\\u0022password\\\\u0022:",
    ];

    #[test]
    fn no_text_costs_a_filter_more_than_its_length_times_a_constant() {
        const SIZE: usize = 4 * 1024;
        /// Three passes over a few views, each with windows of at most 512 bytes at every name that may stand before a value.
        const MOST: usize = 400;
        for unit in HOSTILE {
            let text = |size: usize| unit.repeat(size / unit.len() + 1);
            let (short, long) = (spent(&text(SIZE)), spent(&text(4 * SIZE)));
            assert!(long <= MOST * 4 * SIZE, "{unit:?}: {long} bytes read for {}", 4 * SIZE);
            assert!(long <= 6 * short + 64 * 1024, "{unit:?}: four times the text costs {long} after {short}");
        }
    }
}
