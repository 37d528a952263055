//! The bytes of a file as text.

use std::borrow::Cow;

use descheduler_engine::{Diagnostics, Span};

/// A ConfigMap holds a mebibyte; nothing larger can be a policy.
const MAX_BYTES: usize = 4 << 20;

/// The text of a file without its byte order mark. Places in diagnostics count from here.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// The same, if it is text that can be read.
pub(crate) fn checked<'b>(bytes: &'b [u8], diagnostics: &mut Diagnostics) -> Option<Cow<'b, str>> {
    if bytes.len() > MAX_BYTES {
        let message = format!("a file of {} bytes, at most {MAX_BYTES} are read", bytes.len());
        diagnostics.error("too-large", Span::default(), message);
        return None;
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
        diagnostics
            .error("not-utf-8", Span::default(), "this is no UTF-8 text")
            .help("save the file as UTF-8".to_owned());
        return None;
    }
    let text = text(bytes);
    // What cannot be decoded has been replaced, so the text no longer is what was given.
    if let Cow::Owned(replaced) = &text {
        let start = replaced.find(char::REPLACEMENT_CHARACTER).unwrap_or_default();
        let line_start = replaced[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
        let span = Span {
            start,
            end: start + char::REPLACEMENT_CHARACTER.len_utf8(),
            line: count(replaced[..start].matches('\n').count()),
            column: count(replaced[line_start..start].chars().count()),
        };
        diagnostics
            .error("not-utf-8", span, "this is no UTF-8 text")
            .help("save the file as UTF-8".to_owned());
        return None;
    }
    Some(text)
}
