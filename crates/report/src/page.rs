//! One file of HTML: the frame, the style, the data, the charting library and the script that draws.

use serde::Serialize;

/// How every page begins; so it is known for one that pitchpipe may replace.
pub const OPENING: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"pitchpipe\">";

const FRAME: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/style.css");
const D3: &str = include_str!("../vendor/d3-7.9.0.min.js");
const PLOT: &str = include_str!("../vendor/plot-0.6.17.umd.min.js");

/// The scripts of a report.
pub(crate) const REPORT_SCRIPTS: [&str; 6] = [
    include_str!("../assets/base.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/tree.js"),
    include_str!("../assets/verdict.js"),
    include_str!("../assets/model.js"),
    include_str!("../assets/table.js"),
];

/// The scripts of a comparison.
pub(crate) const COMPARISON_SCRIPTS: [&str; 2] =
    [include_str!("../assets/base.js"), include_str!("../assets/comparison.js")];

/// The scripts of a search that runs.
pub(crate) const LIVE_SCRIPTS: [&str; 4] = [
    include_str!("../assets/base.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/tree.js"),
    include_str!("../assets/live.js"),
];

/// What a page may load besides itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reaches {
    Nothing,
    /// Where it came from.
    ItsServer,
}

impl Reaches {
    /// Its part of the content security policy.
    fn policy(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::ItsServer => "connect-src 'self'; ",
        }
    }
}

/// The page that scripts draw from data.
pub(crate) fn page(data: &impl Serialize, scripts: &[&str]) -> String {
    page_that(Reaches::Nothing, data, scripts)
}

/// The same, for one that may load something.
pub(crate) fn page_that(reaches: Reaches, data: &impl Serialize, scripts: &[&str]) -> String {
    let data = in_script(&serde_json::to_string(data).expect("a report is plain data"));
    let mut html = String::with_capacity(600_000 + data.len());
    let mut rest = FRAME;
    // One pass over the frame: what is filled in is never searched for places to fill.
    while let Some((before, after)) = rest.split_once("{{") {
        let (place, after) = after.split_once("}}").expect("the frame is sound");
        html += before;
        match place {
            "style" => html += STYLE,
            "connect" => html += reaches.policy(),
            "data" => html += &data,
            "d3" => html += D3,
            "plot" => html += PLOT,
            "script" => scripts.iter().for_each(|script| html += script),
            other => unreachable!("the frame has a place {other:?}"),
        }
        rest = after;
    }
    html + rest
}

/// JSON that may stand in a script element: nothing in it ends the element or begins a comment, and it is still the
/// same JSON.
fn in_script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe += &format!("\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hostile_names_stay_data() {
        let names = json!([
            "</script><script>alert(1)</script>",
            "<!--<script>",
            "\"';&amp;{{script}}",
            "\u{202e}right to left\u{2028}\u{2029}",
            "x".repeat(10_000),
        ]);
        let html = page(&names, &REPORT_SCRIPTS);
        let (_, after) = html.split_once("id=\"data\">").unwrap();
        let (data, _) = after.split_once("</script>").unwrap();
        assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        let read: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(read, names);
        assert_eq!(html.matches("</script>").count(), 4, "the data, two libraries and the script");
    }

    #[test]
    fn a_page_asks_for_nothing_and_is_small() {
        let html = page(&json!({}), &REPORT_SCRIPTS);
        assert!(html.starts_with(OPENING));
        assert!(html.len() < 700_000, "{}", html.len());
        for asked in ["<script src", "<img", "@import", "url(http", "<link rel=\"stylesheet"] {
            assert!(!html.contains(asked), "{asked}");
        }
        // What is written by hand never sets markup.
        for script in REPORT_SCRIPTS.iter().chain(&COMPARISON_SCRIPTS).chain(&LIVE_SCRIPTS) {
            for markup in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!script.contains(markup), "{markup}");
            }
        }
    }
}
