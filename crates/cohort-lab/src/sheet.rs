//! The frame of self-contained HTML pages: readable in print, on narrow screens and without scripts.

use maud::{DOCTYPE, Markup, html};

/// Style of all pages.
const STYLE: &str = "\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; \
color: #1f2937; background: #fff; overflow-wrap: break-word; print-color-adjust: exact; \
-webkit-print-color-adjust: exact } \
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin: 2.2rem 0 .3rem } \
.wide { overflow-x: auto } svg { max-width: 100%; height: auto } \
table { border-collapse: collapse } \
th, td { padding: .3rem .6rem; border-bottom: 1px solid #e5e7eb } \
th { font-weight: 600; color: #6b7280 } \
.note { color: #6b7280; font-size: .9rem } code { font-size: .9rem } \
@media print { body { margin: 0; max-width: none } h2 { break-after: avoid } tr { break-inside: avoid } \
.wide { overflow-x: visible } }";

/// A page with this title, further style and content.
#[must_use]
pub fn page(title: &str, style: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (STYLE) " " (style) }
            }
            body {
                h1 { (title) }
                (content)
            }
        }
    };
    page.into_string()
}
