//! What the parts of the text are written with.

use std::io::{self, Write};

use crate::output::layout::{Ink, Screen, clean, width, wrapped};

/// Text narrower than this is no text any more: rather a line that is too long.
const TEXT_MIN: usize = 20;

/// Text in one ink.
pub(super) struct Span {
    ink: Ink,
    text: String,
}

impl Span {
    pub(super) fn new(ink: Ink, text: impl Into<String>) -> Self {
        Self { ink, text: text.into() }
    }
}

/// Where the text goes.
pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
    screen: Screen,
}

impl<'w> Page<'w> {
    pub(super) fn new(out: &'w mut dyn Write, screen: Screen) -> Self {
        Self { out, screen }
    }

    /// How wide a line may be.
    pub(super) fn columns(&self) -> usize {
        self.screen.columns
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    /// The beginning of a part.
    pub(super) fn heading(&mut self, spans: &[Span]) -> io::Result<()> {
        self.blank()?;
        self.line(spans)
    }

    /// One line, however long; no spaces at its end.
    pub(super) fn line(&mut self, spans: &[Span]) -> io::Result<()> {
        for (at, Span { ink, text }) in spans.iter().enumerate() {
            let text = clean(text);
            let text = if at + 1 == spans.len() { text.trim_end() } else { &text };
            self.out.write_all(ink.paint(text, self.screen.coloured).as_bytes())?;
        }
        self.blank()
    }

    /// Text with something in front of it, broken into lines that all begin in the same column.
    /// Without anything in front the lines after the first are moved in a little.
    pub(super) fn paragraph(
        &mut self,
        indent: usize,
        front: &[Span],
        text: &str,
        ink: Ink,
    ) -> io::Result<()> {
        let before = front.iter().map(|span| width(&span.text)).sum::<usize>();
        let hanging = if front.is_empty() { indent + 2 } else { indent + before };
        let columns = self.columns().saturating_sub(hanging).max(TEXT_MIN);
        for (at, line) in wrapped(&clean(text), columns).iter().enumerate() {
            let (indent, front) = if at == 0 { (indent, front) } else { (hanging, &[][..]) };
            write!(self.out, "{:indent$}", "")?;
            for Span { ink, text } in front {
                let text = clean(text);
                self.out.write_all(ink.paint(&text, self.screen.coloured).as_bytes())?;
            }
            self.out.write_all(ink.paint(line.trim_end(), self.screen.coloured).as_bytes())?;
            self.blank()?;
        }
        Ok(())
    }

    /// Says that a list goes on.
    pub(super) fn more(&mut self, indent: usize, number: usize) -> io::Result<()> {
        if number == 0 {
            return Ok(());
        }
        self.paragraph(indent, &[], &format!("and {number} more"), Ink::Dim)
    }
}
