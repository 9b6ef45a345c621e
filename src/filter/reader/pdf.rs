//! The text of a PDF file.

use super::Article;

/// Reads the text of every page, in the order of the pages. The parser panics on some broken files: call it where that costs nothing.
///
/// # Errors
/// Why there is no text, as the end of a sentence.
pub fn read_pdf(bytes: &[u8]) -> Result<Article, &'static str> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes).map_err(|_| "it is encrypted, broken, or no PDF file")?;
    let mut markdown = String::new();
    for page in &pages {
        let mut empty = true;
        for line in page.lines().map(str::trim_end) {
            if line.is_empty() && empty {
                continue;
            }
            empty = line.is_empty();
            markdown.push_str(line);
            markdown.push('\n');
        }
        markdown.truncate(markdown.trim_end().len());
        markdown.push_str("\n\n");
    }
    let length = markdown.trim_end().len();
    if length == 0 {
        return Err("it holds no text, only pictures of it");
    }
    markdown.truncate(length);
    markdown.push('\n');
    Ok(Article { markdown, ..Article::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDF file of pages with one line each; its table of objects is right.
    fn pdf(lines: &[&str]) -> Vec<u8> {
        let kids = (0..lines.len()).fold(String::new(), |kids, page| kids + &format!("{} 0 R ", 4 + page * 2));
        let mut objects = vec![
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            format!("<</Type/Pages/Kids[{kids}]/Count {}>>", lines.len()),
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
        ];
        for (page, line) in lines.iter().enumerate() {
            let stream = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
            objects.push(format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents {} 0 R>>",
                5 + page * 2
            ));
            objects.push(format!("<</Length {}>>stream\n{stream}\nendstream", stream.len()));
        }
        let mut file = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        for (number, object) in objects.iter().enumerate() {
            places.push(file.len());
            file.extend_from_slice(format!("{} 0 obj\n{object}\nendobj\n", number + 1).as_bytes());
        }
        let table = file.len();
        file.extend_from_slice(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).as_bytes());
        for place in places {
            file.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
        }
        file.extend_from_slice(format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1).as_bytes());
        file
    }

    #[test]
    fn pages_give_their_text_in_order() {
        let read = read_pdf(&pdf(&["The river rose.", "Nobody slept."]));
        assert_eq!(read.map(|article| article.markdown), Ok("The river rose.\n\nNobody slept.\n".to_owned()));
    }

    #[test]
    fn what_is_no_pdf_or_has_no_text_says_so() {
        assert_eq!(read_pdf(b"%PDF-1.4\nnonsense"), Err("it is encrypted, broken, or no PDF file"));
        assert_eq!(read_pdf(&pdf(&[""])), Err("it holds no text, only pictures of it"));
    }
}
