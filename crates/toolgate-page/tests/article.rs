//! What belongs to the article of a page and what does not, on pages of documentation above all.

use toolgate_page::{Mode, Options, read_html};

#[test]
fn navigation_is_left_out_of_the_article_and_part_of_the_page() {
    let text = "The river rose for three days before it reached the old bridge. ".repeat(12);
    let html = format!(
        "<nav class=menu><a href=/1>Home</a> <a href=/2>Shop</a></nav><main><h1>Flood</h1><article><p>{text}</p></article></main><footer class=f>All rights reserved</footer>"
    );
    let article = read_html(&html, &Options::default()).text;
    let page = read_html(&html, &Options { mode: Mode::Page, ..Options::default() }).text;
    assert!(article.contains("old bridge") && !article.contains("Shop") && !article.contains("rights"), "{article}");
    assert!(page.contains("old bridge") && page.contains("Shop") && page.contains("rights"), "{page}");
}

/// A page of documentation as generators make it, with these sections.
fn documentation(sections: &[(&str, &str)]) -> String {
    let words =
        "The first process writes what the second one reads, in the order in which it was written, until both have ended. ".repeat(3);
    let section = |(id, heading): &(&str, &str)| {
        let link = format!("<a class='headerlink' href='#{id}' title='Permalink'>¶</a>");
        format!(
            "<section id='{id}'><h2>{heading}{link}</h2><p>{words}</p><div class='highlight'><pre>start({heading:?})</pre></div></section>"
        )
    };
    let sections: String = sections.iter().map(section).collect();
    format!(
        "<div class='related' role='navigation'><ul class='nav'><li class='right'><a href='/'>index</a></li></ul></div>\
         <div class='document'><div class='documentwrapper'><div class='bodywrapper'><div class='body' role='main'><h1>Processes</h1>\
         <p class='first'>{words}</p>{sections}<div id='share-bar'><h3>Tell others</h3><p><a href='/s'>Send it to a friend</a></p></div></div></div></div></div>\
         <div class='sphinxsidebar'><div class='sphinxsidebarwrapper'><h3 class='title'>Contents</h3></div></div><div class='footer'>made</div>"
    )
}

#[test]
fn a_section_is_no_frill_by_the_words_of_its_heading() {
    let plain: Vec<(String, String)> = (1..10).map(|n| (format!("step-{n}"), format!("Step {n}"))).collect();
    for (id, heading) in [
        ("sharing-state-between-processes", "Sharing state between processes"),
        ("related-modules", "Related modules"),
        ("what-is-a-social-network-1", "What is a social network?"),
        ("share_memory", "Share memory"),
        ("cookies", "Cookies"),
        ("comments", "Comments"),
        ("footers", "Footers"),
    ] {
        let mut sections: Vec<(&str, &str)> = plain.iter().map(|(id, heading)| (id.as_str(), heading.as_str())).collect();
        sections.insert(5, (id, heading));
        let article = read_html(&documentation(&sections), &Options::default()).text;
        let found: Vec<&str> = article.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let expected: Vec<&str> = sections.iter().map(|(_, heading)| *heading).collect();
        assert_eq!(found, expected);
        assert!(!article.contains("to a friend"), "{article}");
    }
}

#[test]
fn a_last_section_of_code_alone_stays_with_its_heading() {
    let article = |after: &str| {
        let html = format!(
            "<html><body><main><div><section tabindex=-1><div><div><a>std</a>::<a>fs</a></div><h1>Function soft_link</h1><span>1.0.0 · <a>Source</a></span></div>\
             <div>Deprecated since 1.1.0: replaced with std::os::unix::fs::symlink</div><details open><summary>Expand description</summary><div>\n\
             <p>The link path will be a symbolic link pointing to the original path.\nOn Windows, this will be a file symlink, not a directory symlink;\n\
             for this reason, the platform-specific <a>std::os::unix::fs::symlink</a>\nand <a>std::os::windows::fs::symlink_file</a> should be\n\
             used instead to make the intent explicit.</p>\n<h2 id=examples><a href=#examples>§</a>Examples</h2>\n\
             <div><pre>use std::fs;\n\nfn main() {{\n    fs::soft_link(&quot;a.txt&quot;, &quot;b.txt&quot;)?;\n}}</pre>{after}</div></div></details></section></div></main></body></html>"
        );
        read_html(&html, &Options::default()).text
    };
    let with_link = article("<a class='test-arrow' href='/?code=1'></a>");
    assert!(with_link.contains("explicit.\n\n## Examples\n\n```\nuse std::fs;\n\nfn main() {\n    fs::soft_link(\"a.txt\""), "{with_link}");
    assert_eq!(with_link, article(""));
}

/// The pages of the standard library's functions as `rustdoc` made them, where they are installed beside the compiler.
fn installed_documentation() -> Vec<std::path::PathBuf> {
    let asked = std::process::Command::new("rustc").args(["--print", "sysroot"]).output();
    let Ok(asked) = asked else { return Vec::new() };
    let root = std::path::PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim()).join("share/doc/rust/html/std");
    let files = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let is_page = |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fn."));
    let mut pages: Vec<_> =
        ["cmp", "env", "fs", "iter", "mem", "thread"].iter().flat_map(|module| files(&root.join(module))).filter(is_page).collect();
    pages.sort();
    pages
}

#[test]
fn every_block_of_code_and_every_heading_above_one_of_a_page_of_documentation_is_in_the_article() {
    let pages = installed_documentation();
    if pages.is_empty() {
        println!("skipped: the documentation of the standard library is not installed beside `rustc`");
        return;
    }
    let words = |text: &str| text.split_whitespace().collect::<String>();
    for path in pages {
        let html = std::fs::read_to_string(&path).unwrap();
        let article = words(&read_html(&html, &Options::default()).text);
        // What scripts hold stands after it.
        let main = html.split_once("<main").unwrap().1.split("<script").next().unwrap();
        for block in main.split("<pre").skip(1) {
            let (_, inside) = block.split_once('>').unwrap();
            let text = text_of(inside.split_once("</pre>").unwrap().0);
            assert!(article.contains(&words(&text)), "{}: {text}", path.display());
        }
        for (before, _) in main.match_indices("<div class=\"example-wrap").filter_map(|(at, _)| main.split_at_checked(at)) {
            let Some((_, heading)) = before.trim_end().strip_suffix("</h2>").and_then(|before| before.rsplit_once("<h2")) else { continue };
            let text = text_of(heading.split_once('>').unwrap().1);
            assert!(article.contains(&words(text.trim_start_matches('§'))), "{}: {text}", path.display());
        }
    }
}

/// The text of a piece of `rustdoc`'s markup.
fn text_of(markup: &str) -> String {
    let mut inside = false;
    let text: String = markup
        .chars()
        .filter(|c| {
            let was = inside;
            inside = (inside || *c == '<') && *c != '>';
            !was && !inside
        })
        .collect();
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (code, sign)| text.replace(code, sign))
}
