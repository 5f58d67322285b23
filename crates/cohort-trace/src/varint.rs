//! Numbers and texts in a payload.

/// Appends a number.
pub fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Appends a text.
pub fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

/// A payload that is being read.
pub struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// The whole payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { left: payload }
    }

    /// Whether all of it has been read.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// The next byte.
    ///
    /// # Errors
    /// None is left.
    pub fn byte(&mut self) -> Result<u8, &'static str> {
        let (first, left) = self.left.split_first().ok_or("it ends within an entry")?;
        self.left = left;
        Ok(*first)
    }

    /// The next number.
    ///
    /// # Errors
    /// It is cut, or has more than 64 bits.
    pub fn number(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                break;
            }
            number |= bits << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits")
    }

    /// The next text.
    ///
    /// # Errors
    /// It is cut, or is not UTF-8.
    pub fn text(&mut self) -> Result<String, &'static str> {
        let length = usize::try_from(self.number()?).map_err(|_| "a text is too long")?;
        let (text, left) = self
            .left
            .split_at_checked(length)
            .ok_or("a text is longer than its block")?;
        self.left = left;
        let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
        Ok(text.to_owned())
    }
}
