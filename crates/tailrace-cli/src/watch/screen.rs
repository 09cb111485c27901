//! The terminal, while a fabric is shown on it.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use tailrace_config::shown;

use super::text::{Line, Tone};

/// A terminal, which is as it was before when this goes.
pub struct Screen(());

impl Screen {
    /// `None` if nobody looks, or types.
    pub fn take() -> io::Result<Option<Self>> {
        if !stdout().is_terminal() || !stdin().is_terminal() {
            return Ok(None);
        }
        enable_raw_mode()?;
        let screen = Screen(());
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(Some(screen))
    }

    /// Shows lines, of which it says how many columns and rows there may be.
    pub fn show(&self, lines: impl FnOnce(usize, usize) -> Vec<Line>) -> io::Result<()> {
        let (columns, rows) = size()?;
        let mut out = stdout().lock();
        queue!(out, BeginSynchronizedUpdate)?;
        let mut lines = lines(columns.into(), rows.into()).into_iter();
        for row in 0..rows {
            // Cleared first: behind a full line the cursor still stands on its last character.
            queue!(out, MoveTo(0, row), Clear(ClearType::CurrentLine))?;
            if let Some((tone, text)) = lines.next() {
                let text = Print(shown(&text, usize::MAX));
                queue!(out, SetAttribute(attribute(tone)), text, SetAttribute(Attribute::Reset))?;
            }
        }
        queue!(out, EndSynchronizedUpdate)?;
        out.flush()
    }

    /// Whether somebody has typed q or Ctrl-C.
    pub fn asked_to_end(&self) -> io::Result<bool> {
        while event::poll(Duration::ZERO)? {
            let Event::Key(key) = event::read()? else { continue };
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            let ends =
                matches!((key.code, control), (KeyCode::Char('q'), false) | (KeyCode::Char('c'), true));
            if ends && key.kind != KeyEventKind::Release {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

fn attribute(tone: Tone) -> Attribute {
    match tone {
        Tone::Title => Attribute::Bold,
        Tone::Heads => Attribute::Underlined,
        Tone::Plain => Attribute::Reset,
        Tone::Busy => Attribute::Bold,
        Tone::Hint => Attribute::Dim,
    }
}
