//! What a YAML scalar without quotes is in JSON.
//!
//! As `kubectl` writes and reads them: the core schema of YAML 1.2, and the integers of 1.1.
//! Words such as `yes` stay words: where a string is meant they would be quoted, and nothing
//! that is read here is written `yes`.

/// Writes a scalar as JSON.
pub(super) fn write_plain(text: &str, out: &mut Vec<u8>) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => out.extend_from_slice(b"null"),
        "true" | "True" | "TRUE" => out.extend_from_slice(b"true"),
        "false" | "False" | "FALSE" => out.extend_from_slice(b"false"),
        _ => match number(text) {
            Some(number) => out.extend_from_slice(number.as_bytes()),
            None => write_string(text, out),
        },
    }
}

/// Writes text as a JSON string.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The JSON number that `text` is, if it is one.
fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        b'0'..=b'9' | b'.' => ("", text),
        _ => return None,
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            // `from_str_radix` would take a second sign.
            let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let value = u64::from_str_radix(digits, radix).ok().filter(|_| plain)?;
            return Some(format!("{sign}{value}"));
        }
    }
    let octal = digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    if octal {
        return Some(format!("{sign}{}", u64::from_str_radix(digits, 8).ok()?));
    }
    decimal(digits).map(|decimal| format!("{sign}{decimal}"))
}

/// Digits, perhaps with a fraction and an exponent, as JSON wants them.
fn decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = fraction.unwrap_or_default();
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    // JSON has no leading zeros and no bare point.
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let mut json = whole.to_owned();
    if !fraction.is_empty() {
        json = json + "." + fraction;
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
        json = json + "e" + exponent;
    }
    Some(json)
}
