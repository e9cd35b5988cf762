//! A harness of full size: 16 threads and a heap of 1 GiB, every page of it in use, from which many commands run under one policy,
//! each with an ending, an output and an attempt of its own, and each is looked at. At the end nothing may be left of them.
//!
//!     rustc --edition 2021 -O -L PREFIX/lib many_runs.rs
//!     LD_LIBRARY_PATH=PREFIX/lib ./many_runs WORKSPACE [COUNT]
//!
//! WORKSPACE is a directory in the home, which commands may not write. COUNT: 320 unless it is given.

#[allow(dead_code)]
mod procage;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use procage::{How, Outcome, Policy, Result};

const THREADS: usize = 16;
const HEAP_BYTES: usize = 1 << 30;
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// How a command ends.
enum Ending {
    Status(i32),
    Signal(i32),
    Deadline,
}

/// What is asked of run `number`, and expected.
struct Job {
    line: String,
    input: String,
    lines: usize,
    ending: Ending,
}

impl Job {
    /// Reads its input, writes a file of its own into the workspace, tries to write one outside, tells some lines, and ends.
    fn new(number: usize, outside: &Path) -> Job {
        let lines = if number % 7 == 3 { 20000 } else { number % 5 };
        let ending = match number % 16 {
            5 => Ending::Signal(SIGTERM),
            11 => Ending::Deadline,
            _ => Ending::Status((number % 120) as i32),
        };
        let last = match ending {
            Ending::Status(status) => format!("exit {status}"),
            Ending::Signal(signal) => format!("kill -{signal} $$"),
            Ending::Deadline => "exec sleep 60".to_string(),
        };
        let line = format!(
            "cat; echo; echo own >own.{number}; \
             (echo lost >{}/lost.{number}) 2>/dev/null && exit 125; \
             seq {lines}; echo told {number} >&2; {last}",
            outside.display()
        );
        Job { line, input: format!("input {number}"), lines, ending }
    }

    fn timeout_ms(&self) -> i64 {
        if matches!(self.ending, Ending::Deadline) { 2000 } else { 120_000 }
    }

    /// What is wrong with its outcome.
    fn fault(&self, number: usize, outcome: &Outcome, workspace: &Path) -> Option<String> {
        let (status, signal) = match self.ending {
            Ending::Status(status) => (status, 0),
            Ending::Signal(signal) => (-1, signal),
            Ending::Deadline => (-1, SIGKILL),
        };
        let is_late = matches!(self.ending, Ending::Deadline);
        if is_late != outcome.is_timed_out() || outcome.is_cancelled() {
            return Some(format!("timed out: {}", outcome.is_timed_out()));
        }
        // A deadline is SIGTERM first, by which a sleep ends.
        if outcome.status() != status || (outcome.signal() != signal && !(is_late && outcome.signal() == SIGTERM)) {
            return Some(format!("status {}, signal {}", outcome.status(), outcome.signal()));
        }
        let mut expected = format!("{}\n", self.input);
        (1..=self.lines).for_each(|i| expected += &format!("{i}\n"));
        // On a busy machine a deadline may come before all was told.
        let is_told = |told: &[u8], all: &str| told == all.as_bytes() || is_late && all.as_bytes().starts_with(told);
        if !is_told(outcome.stdout(), &expected) {
            return Some(format!("{} bytes of output, not {}", outcome.stdout().len(), expected.len()));
        }
        if !is_told(outcome.stderr(), &format!("told {number}\n")) || !outcome.events().is_empty() {
            return Some(String::from_utf8_lossy(outcome.stderr()).into_owned() + &outcome.events());
        }
        let own = workspace.join(format!("own.{number}"));
        if fs::read_to_string(&own).unwrap_or_default() != "own\n" {
            return if is_late { None } else { Some("its file is not there".to_string()) };
        }
        fs::remove_file(&own).err().map(|problem| problem.to_string())
    }
}

fn run_jobs(policy: &Policy, next: &AtomicUsize, count: usize, workspace: &Path, outside: &Path) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(());
        }
        let job = Job::new(number, outside);
        let how = How { input: job.input.as_bytes(), timeout_ms: job.timeout_ms(), ..How::default() };
        let outcome = policy.run(&["/bin/sh", "-c", &job.line], &how).map_err(|text| format!("run {number}: {text}"))?;
        if let Some(fault) = job.fault(number, &outcome, workspace) {
            return Err(format!("run {number}: {fault}"));
        }
    }
}

// ---- What is left -------------------------------------------------------------------------------------------------------------

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, |list| list.count())
}

/// Children, dead or alive, that nobody has reaped.
fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default().split_whitespace().count()).sum()
}

fn rss_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn entries(of: &Path) -> usize {
    fs::read_dir(of).map_or(0, |list| list.count())
}

fn expect(is_right: bool, text: &str) -> Result<()> {
    if is_right { Ok(()) } else { Err(text.to_string()) }
}

/// All of them, with one policy.
fn run_all(workspace: &Path, outside: &Path, count: usize) -> Result<Duration> {
    let policy = Policy::prepared("speccoder", &workspace.to_string_lossy())?;
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|_| scope.spawn(|| run_jobs(&policy, &next, count, workspace, outside))).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect::<Result<Vec<()>>>()
    })?;
    Ok(start.elapsed())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let workspace = PathBuf::from(arguments.next().ok_or("usage: many_runs /absolute/workspace [count]")?);
    let count = arguments.next().map_or(Ok(320), |text| text.parse()).map_err(|_| "count: a number is expected")?;
    let outside = PathBuf::from(format!("{}.outside", workspace.display()));
    let heap = vec![1u8; HEAP_BYTES];

    fs::create_dir(&outside).map_err(|problem| format!("{}: {problem}", outside.display()))?;
    // Without confinement it can be written.
    fs::write(outside.join("control"), "kept").map_err(|problem| problem.to_string())?;
    // The first run fills what a process has once: it does not count.
    run_all(&workspace, &outside, THREADS)?;
    let (descriptors_before, rss_before) = (descriptors(), rss_kib());
    let took = run_all(&workspace, &outside, count)?;
    let (descriptors_after, rss_after) = (descriptors(), rss_kib());
    expect(heap.iter().step_by(4096).all(|byte| *byte == 1), "the heap was written")?;

    println!(
        "{THREADS} threads, {} MiB: {count} runs, all right, in {:.1} s: {:.0} a second",
        HEAP_BYTES >> 20,
        took.as_secs_f64(),
        count as f64 / took.as_secs_f64()
    );
    println!(
        "resident KiB {rss_before} -> {rss_after}, descriptors {descriptors_before} -> {descriptors_after}, children {}",
        children()
    );
    expect(entries(&outside) == 1, "a command has written outside")?;
    expect(descriptors_after == descriptors_before, "descriptors are left open")?;
    expect(children() == 0, "children are left")?;
    fs::remove_dir_all(&outside).map_err(|problem| problem.to_string())
}
