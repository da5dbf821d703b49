//! One pass over all files, on threads of its own that are at most two blocks ahead. They read the columns of a block side by
//! side: as many at once as the pool of the caller has threads.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::super::delimited::{Building, Style};
use super::super::guess::Guess;
use super::super::pages;
use super::super::parquet::{self, Shared, Sink, Stored};
use super::super::records::{Batch, Records};
use super::super::{Column, Table, TableError, Values, Wish};
use super::files::Part;
use super::{Block, Inner, Starts};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rffblr::internals::Cells;

/// What was counted of the columns of text files, by their position, and whether the type of each is open.
type Guesses = Vec<(usize, bool, Guess)>;

/// What the reading thread sends: a block and the columns of numbers in which text was met so far.
type Message = Result<(Block, Vec<usize>), TableError>;

/// A pass that is under way.
pub(super) struct Pass {
    blocks: Option<Receiver<Message>>,
    thread: Option<JoinHandle<Guesses>>,
    stop: Arc<AtomicBool>,
    guesses: Guesses,
}

impl Pass {
    /// Starts to read blocks of `rows` rows. With `guess`, text in a column of numbers whose type no one declared is
    /// counted and taken as missing; without, it is an error.
    pub(super) fn start(inner: &Arc<Inner>, types: Vec<Option<bool>>, rows: usize, guess: bool) -> Pass {
        let (sender, blocks) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let (inner, stopped) = (Arc::clone(inner), Arc::clone(&stop));
        let threads = rayon::current_num_threads();
        let read = move || {
            let mut reading = Reading::new(&inner, &types, guess);
            let mut filling = Filling::new(&inner, &types, rows.max(1), &sender, &stopped);
            if let Err(error) = own_pool(threads).install(|| reading.all_parts(&mut filling))
                && !stopped.load(Ordering::Relaxed)
            {
                // If no one waits for the error any more, no one has to know it.
                let _ = sender.send(Err(error));
            }
            reading.guesses()
        };
        Pass { blocks: Some(blocks), thread: Some(thread::spawn(read)), stop, guesses: Vec::new() }
    }

    /// The next block; nothing after the last one and after an error.
    pub(super) fn next_block(&mut self) -> Option<Message> {
        let message = self.blocks.as_ref()?.recv();
        if !matches!(message, Ok(Ok(_))) {
            self.end();
        }
        message.ok()
    }

    /// What was counted; of all rows if the last block was taken.
    pub(super) fn guesses(mut self) -> Guesses {
        self.end();
        std::mem::take(&mut self.guesses)
    }

    /// Ends the thread and waits for it.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A thread that waits to hand over a block is released.
        self.blocks = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(guesses)) => self.guesses = guesses,
            Some(Err(panic)) if !thread::panicking() => resume_unwind(panic),
            _ => {}
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.end();
    }
}

/// Threads apart from those that compute: whoever waits for a block may be one of these.
fn own_pool(threads: usize) -> ThreadPool {
    let several = ThreadPoolBuilder::new().num_threads(threads).build();
    // Without threads to be had, this one does it all.
    let alone = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    several.or_else(|_| alone()).unwrap_or_else(|problem| unreachable!("a pool without a thread to start: {problem}"))
}

/// Columns as they are read from one file after another.
struct Reading<'a> {
    inner: &'a Inner,
    /// With the position of each in the first file.
    columns: Vec<(usize, Building)>,
}

impl<'a> Reading<'a> {
    fn new(inner: &'a Inner, types: &[Option<bool>], guess: bool) -> Reading<'a> {
        let building = |(column, text): (usize, &Option<bool>)| {
            let text = (*text)?;
            let wish = match inner.wishes[column] {
                Wish::Guess if guess => Wish::Guess,
                _ if text => Wish::Text,
                _ => Wish::Numeric,
            };
            Some((column, Building::settled(inner.names[column].clone(), wish, text)))
        };
        Reading { inner, columns: types.iter().enumerate().filter_map(building).collect() }
    }

    fn all_parts(&mut self, filling: &mut Filling<'_>) -> Result<(), TableError> {
        for part in &self.inner.parts {
            (filling.part_bytes, filling.part, filling.part_rows) = (part.bytes as f64, part.name.as_str().into(), 0);
            let input = part.reopen()?;
            match part.style {
                Some(style) => self.text(part, input, style, filling)?,
                None => parquet::guarded(&part.name, || self.parquet(part, input, filling))?,
            }
            part.check_unchanged()?;
            filling.bytes_before += part.bytes;
        }
        filling.flush()?;
        match filling.first_row {
            0 if !self.inner.options.allow_empty => {
                Err(TableError::NoRows { file: self.inner.first_file().to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn parquet(&mut self, part: &Part, input: File, filling: &mut Filling<'_>) -> Result<(), TableError> {
        let input = Shared::new(input).map_err(|cause| TableError::Read { file: part.name.clone(), cause })?;
        pages::check(&part.name, &input, self.inner.options.allow_expansion)?;
        let reader = parquet::reader(&part.name, input)?;
        let stored = parquet::Description::of(&reader).columns(&part.name, &self.inner.options)?;
        let mut stored: HashMap<String, Stored> = stored.into_iter().map(|found| (found.name.clone(), found)).collect();
        let mut columns = Vec::with_capacity(self.columns.len());
        for (_, column) in &self.columns {
            let found = stored.remove(&column.name);
            let mut found = found.ok_or_else(|| TableError::Changed { file: part.name.clone() })?;
            found.wish = if column.is_text() { Wish::Text } else { Wish::Numeric };
            columns.push(found);
        }
        parquet::pieces(&part.name, &reader, &columns, filling)
    }

    /// The next rows are split into cells while the cells of these are read.
    fn text(&mut self, part: &Part, input: File, style: Style, filling: &mut Filling<'_>) -> Result<(), TableError> {
        let count = AtomicU64::new(0);
        let unpacked = part.packing.unpack(Counted { input, count: &count });
        let unpacked = unpacked.map_err(|cause| TableError::Read { file: part.name.clone(), cause })?;
        let mut records = Records::new(&part.name, part.letters.decode(unpacked), style.delimiter);
        self.columns.iter_mut().for_each(|(_, column)| column.written(style.numerals));
        let (mut batch, mut next) = (Batch::default(), Batch::default());
        let names = records.start(&mut batch)?;
        let known: HashMap<&String, usize> = (0..).zip(&names).map(|(place, name)| (name, place)).collect();
        let mut places = Vec::with_capacity(self.columns.len());
        for (_, column) in &self.columns {
            let place = known.get(&column.name).copied();
            places.push(place.ok_or_else(|| TableError::Changed { file: part.name.clone() })?);
        }
        loop {
            let done = count.load(Ordering::Relaxed) as f64 / part.bytes.max(1) as f64;
            let (scanned, used) = thread::scope(|scope| {
                let scan = scope.spawn(|| records.next(&mut next));
                let used = self.rows(part, &batch, &places, done, filling);
                (scan.join().unwrap_or_else(|panic| resume_unwind(panic)), used)
            });
            used?;
            scanned?;
            if next.rows() == 0 {
                return Ok(());
            }
            std::mem::swap(&mut batch, &mut next);
        }
    }

    /// Reads the cells of a batch.
    fn rows(
        &mut self,
        part: &Part,
        batch: &Batch,
        places: &[usize],
        done: f64,
        filling: &mut Filling<'_>,
    ) -> Result<(), TableError> {
        let mut first = 0;
        while first < batch.rows() {
            let rows = first..batch.rows().min(first + filling.wanted());
            first = rows.end;
            let read = |((_, column), &place): (&mut (usize, Building), &usize)| {
                column.read(&part.name, batch, rows.clone(), place).err()
            };
            let flaws: Vec<_> = self.columns.par_iter_mut().zip(places).filter_map(read).collect();
            // The first flaw in the file; they come in the order of the columns.
            if let Some((_, error)) = flaws.into_iter().min_by_key(|(row, _)| *row) {
                return Err(error);
            }
            let mut piece = Vec::with_capacity(self.columns.len());
            filling.surprises.clear();
            for (position, column) in &mut self.columns {
                if column.surprised() {
                    filling.surprises.push(*position);
                }
                piece.push(column.take()?);
            }
            filling.add(piece, done)?;
        }
        Ok(())
    }

    fn guesses(self) -> Guesses {
        let guess = |(position, column): (usize, Building)| (position, column.is_guess(), column.guess);
        self.columns.into_iter().filter(|_| self.inner.untyped).map(guess).collect()
    }
}

/// The block that is being filled.
struct Filling<'a> {
    inner: &'a Inner,
    /// With the name of each column.
    cells: Vec<(&'a str, Cells)>,
    /// Rows of a block.
    rows: usize,
    filled: usize,
    first_row: u64,
    /// Bytes of the files that are done, and of the one that is read.
    bytes_before: u64,
    part_bytes: f64,
    bytes_read: u64,
    /// The file that is read, and the rows of it that were added.
    part: Arc<str>,
    part_rows: u64,
    starts: Starts,
    surprises: Vec<usize>,
    sender: &'a SyncSender<Message>,
    stopped: &'a AtomicBool,
}

impl<'a> Filling<'a> {
    fn new(
        inner: &'a Inner,
        types: &[Option<bool>],
        rows: usize,
        sender: &'a SyncSender<Message>,
        stopped: &'a AtomicBool,
    ) -> Filling<'a> {
        let cells = inner.names.iter().zip(types);
        let cells = cells.filter_map(|(name, text)| text.map(|text| (name.as_str(), Cells::empty(text))));
        Filling {
            inner,
            cells: cells.collect(),
            rows,
            filled: 0,
            first_row: 0,
            bytes_before: 0,
            part_bytes: 0.0,
            bytes_read: 0,
            part: "".into(),
            part_rows: 0,
            starts: Starts::default(),
            surprises: Vec::new(),
            sender,
            stopped,
        }
    }

    /// Sends the rows so far.
    fn flush(&mut self) -> Result<(), TableError> {
        if self.filled == 0 {
            return Ok(());
        }
        let column = |(name, cells): &mut (&str, Cells)| Column { name: (*name).to_owned(), values: cells.take() };
        let table = Table::new(self.cells.iter_mut().map(column).collect())?.leaving_out(self.inner.ignored.clone());
        let starts = std::mem::take(&mut self.starts);
        let block = Block { table, first_row: self.first_row, bytes_read: self.bytes_read, starts };
        self.first_row += self.filled as u64;
        self.filled = 0;
        self.sender.send(Ok((block, self.surprises.clone()))).map_err(|_| TableError::Stopped)
    }
}

impl Sink for Filling<'_> {
    fn wanted(&self) -> usize {
        self.rows - self.filled
    }

    fn add(&mut self, piece: Vec<Values>, done: f64) -> Result<(), TableError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(TableError::Stopped);
        }
        let rows = piece.first().map_or(0, Values::len);
        self.starts.add(self.first_row + self.filled as u64, &self.part, self.part_rows);
        self.filled += rows;
        self.part_rows += rows as u64;
        for ((_, cells), values) in self.cells.iter_mut().zip(&piece) {
            cells.extend(values, 0..values.len());
        }
        self.bytes_read = self.bytes_before + (done * self.part_bytes) as u64;
        if self.filled == self.rows { self.flush() } else { Ok(()) }
    }
}

/// A file whose bytes are counted as they are read.
struct Counted<'a> {
    input: File,
    count: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
