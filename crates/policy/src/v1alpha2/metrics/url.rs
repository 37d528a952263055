//! Addresses, as Go's `url.Parse` judges them.

use descheduler_engine::{Diagnostics, Span};

/// Reports an address that cannot be used.
pub(super) fn check(path: &str, url: &str, span: Span, diagnostics: &mut Diagnostics) {
    if let Err(why) = parse(url) {
        diagnostics.error("bad-url", span, format!("`{path}`: `{url}` is no URL: {why}"));
    } else if !["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    }) {
        // Upstream accepts it here, and fails at every query.
        diagnostics
            .warning(
                "no-http-url",
                span,
                format!("`{path}`: `{url}` is no address of a web server"),
            )
            .help("begin it with `http://` or `https://`".to_owned());
    }
}

/// What `url.Parse` finds wrong with an address.
fn parse(url: &str) -> Result<(), &'static str> {
    if url.contains(|c: char| c.is_ascii_control()) {
        return Err("it has a control character");
    }
    let url = url.split('#').next().unwrap_or_default();
    let (has_scheme, rest) = match scheme(url)? {
        Some(scheme) => (true, &url[scheme.len() + 1..]),
        None => (false, url),
    };
    let hierarchical = rest.starts_with('/');
    if !hierarchical && has_scheme {
        // What comes then is not looked into.
        return Ok(());
    }
    let rest = rest.split('?').next().unwrap_or_default();
    if !hierarchical && rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
        return Err("the first part of its path has a colon");
    }
    let Some(rest) = rest.strip_prefix("//") else { return escapes(rest) };
    let (authority, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    check_host(authority.rsplit_once('@').map_or(authority, |(_, host)| host))?;
    escapes(rest)
}

/// The part before the first colon, if it can be a scheme.
fn scheme(url: &str) -> Result<Option<&str>, &'static str> {
    for (at, c) in url.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("it has no scheme"),
            ':' => return Ok(Some(&url[..at])),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let after = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']').ok_or("a `]` is missing in its host")?.1,
        None => {
            let (name, after) = host.split_at(host.rfind(':').unwrap_or(host.len()));
            if name.contains(|c: char| {
                matches!(c, ' ' | '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
            }) {
                return Err("its host has a character that no host can have");
            }
            after
        }
    };
    let port_ok = match after.strip_prefix(':') {
        Some(port) => port.chars().all(|c| c.is_ascii_digit()),
        None => after.is_empty(),
    };
    if port_ok { Ok(()) } else { Err("its port is no number") }
}

/// A percent sign has to have two hexadecimal digits behind it.
fn escapes(text: &str) -> Result<(), &'static str> {
    let ok = text
        .split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit()));
    if ok { Ok(()) } else { Err("a `%` has no two hexadecimal digits behind it") }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn addresses() {
        for good in [
            "http://prometheus:9090",
            "https://user:pass@[::1]:9090/path%20x?q=%zz",
            "prometheus:9090",
            "/path",
            "http://host:/",
            "",
        ] {
            assert_eq!(parse(good), Ok(()), "`{good}`");
        }
        for bad in [
            "http://example.com:-80",
            "http://host:80a",
            "://host",
            "http://[::1",
            "http://ho st",
            "http://host/%2",
            "http://host\n",
            "1a:b",
        ] {
            assert!(parse(bad).is_err(), "`{bad}`");
        }
    }
}
