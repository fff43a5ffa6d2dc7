//! `pitchpipe fit`: from a table and a number of seconds to a model.

mod args;
mod interrupt;
mod live;
mod progress;
mod report;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) use args::{FitArgs, port};
pub(crate) use live::not_served;
use pitchpipe_automl::online::address_space_limit;
use pitchpipe_automl::surrogate::Surrogate;
use pitchpipe_automl::{AutoMl, Model, PaperOptions};
use pitchpipe_report::Live;
use pitchpipe_table::{
    CancelCheck, Dataset, Source, TableError, TableReport, read, stand_by, stand_down,
    write_atomically,
};

use crate::Done;
use crate::failure::{Failure, NOTHING_YET};
use crate::model_table::{AsText, labelled, read_for};
use crate::notes::{self, Weight};
use crate::output::{self, Product};
use crate::values::written_duration;
use interrupt::Interrupt;
use progress::Reporter;

/// Reading may take so much of the budget: with less left there is no search, and letting go of what was read takes time, too.
const READING_SHARE: f64 = 0.9;

/// Seconds a byte of a file that letting go of it takes, and of what was read from it.
const LETTING_GO_SECS: f64 = 5e-10;

/// Seconds a cell of the table that pass before the first pipeline can run …
const BEGINNING_SECS: f64 = 6e-9;

/// … and beside the time of reading, which knows how busy the machine is: .35 on an idle one, .4 on a busy one, at 50 million cells.
const BEGINNING_SHARE: f64 = 0.4;

pub(crate) fn run(
    args: &FitArgs,
    started: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<Done, Failure> {
    let (file, budget, flag) = (args.table.source().name(), args.time_budget, Arc::clone(stop));
    let unread = move || unread(&file, budget, &flag);
    let interrupt = Interrupt::watch(Arc::clone(stop), started + time_to_read(args), unread)?;
    check_output(args)?;
    let live = live::start(args, started, stop)?;
    let done = search(args, started, &interrupt, live.as_ref());
    if let (Some(live), Err(failure)) = (&live, &done) {
        live.fail(failure.message().to_owned(), live::PATIENCE);
    }
    done
}

fn time_to_read(args: &FitArgs) -> Duration {
    let n_bytes = match args.table.source() {
        Source::Path(path) => std::fs::metadata(path).map_or(0, |about| about.len()),
        _ => 0,
    };
    let letting_go = Duration::from_secs_f64(LETTING_GO_SECS * n_bytes as f64);
    args.time_budget.mul_f64(READING_SHARE).saturating_sub(letting_go)
}

/// Searches, and writes what was found.
fn search(
    args: &FitArgs,
    started: Instant,
    interrupt: &Interrupt,
    live: Option<&Live>,
) -> Result<Done, Failure> {
    let surrogate = args.surrogate.as_deref().map(Surrogate::read).transpose()?;
    let file = args.table.source().name();
    let reading = Reading { args, interrupt };
    let (dataset, held_out, table_report) = reading.training()?;
    let validation = reading.validation(&dataset)?;
    interrupt.reading_is_over();
    let n_cells = dataset.n_rows() * dataset.columns().len();
    let read = started.elapsed();
    let beginning = Duration::from_secs_f64(BEGINNING_SECS * n_cells as f64);
    let begun = read + beginning.max(read.mul_f64(BEGINNING_SHARE));
    if !args.repeatable && begun > args.time_budget {
        return Err(Failure::with_help(
            format!(
                "{file} was read after {}, and what is left of {} is too short for a search",
                written_duration(read),
                written_duration(args.time_budget)
            ),
            "give it more time (--time-budget), or fewer rows".to_owned(),
        ));
    }
    notes::tell(args.voice(), &file, &table_report.notes);

    let mut search = AutoMl::new()
        .time_budget(args.time_budget)
        .method(args.method)
        .metric(args.metric)
        .threads(args.threads.map_or_else(cores, usize::from))
        .seed(args.seed)
        .repeatable(args.repeatable)
        .started_at(started)
        .cancel(interrupt.flag())
        .keep_history(!args.no_history)
        .refit(!args.no_refit)
        .fast_predict(args.fast_predict)
        .keep_back(report::kept_back(args))
        .paper_options(PaperOptions {
            design: args.design,
            runtimes: args.runtimes,
            kernel_prediction: args.kernel_prediction,
            rank_rule: args.rank_rule,
            first_target: args.first_target,
            last_round: args.last_round,
            best_predicted: args.best_predicted.map(|n| n as usize),
            validation_share: args.validation_share,
            category_fill: args.category_fill,
        });
    if let Some(n) = args.folds {
        search = search.folds(n.into());
    }
    if let Some(combination) = args.ensemble {
        search = search.ensemble(combination);
    }
    if let Some(bytes) = args.memory {
        search = search.memory_limit(bytes);
    }
    if let Some(n) = args.max_evaluations {
        search = search.max_evaluations(n as usize);
    }
    if let Some(rows) = validation {
        search = search.validation(rows);
    }
    if let Some(rows) = held_out {
        search = search.held_out(rows);
    }
    if let Some(surrogate) = surrogate {
        search = search.surrogate(Arc::new(surrogate));
    }
    if let Some(live) = live {
        search = search.watch(live.watch());
    }
    let _waiting = Waiting;
    if address_space_limit().is_some() {
        search = search.keep_drafts(keep_draft(args.out.clone()));
    }
    let reporter = Reporter::new(args, started, interrupt.flag());
    let result = search.fit_with(&dataset, |event| live::tell(&event, &reporter, live));
    reporter.close();
    if let Some(failures) = reporter.failures().filter(|_| !args.json) {
        notes::tell_all(args.voice(), &file, Weight::Warning, &[failures]);
    }
    let mut model = result.map_err(|error| Failure::of_search(&file, &error))?;
    model.annotate(Some(report::command_line()), notes::without_cells(&table_report));
    let n_bytes = save(&model, &args.out)?;

    let ended_early = interrupt.flag().load(Ordering::Relaxed);
    if let Some(page) = report::page(args, &model, &dataset, n_bytes, started, ended_early) {
        report::write(args, &page)?;
        if let Some(live) = live {
            live.finish(page, live::PATIENCE);
        }
    }
    let made = summary::Made { args, file: &file, table: &table_report, model: &model, n_bytes };
    let text = match (args.quiet, args.json) {
        (true, _) => String::new(),
        (_, true) => made.as_json(started.elapsed(), ended_early),
        _ => made.as_text(ended_early),
    };
    // The process ends here, and giving back a large table and model piece by piece takes its time.
    std::mem::forget((dataset, model));
    Ok(Done { ended_early, ..Done::saved(text) })
}

/// What is wrong with the output is said before the search, not after it.
fn check_output(args: &FitArgs) -> Result<(), Failure> {
    let inputs = [Some(&args.table.file), args.validation.as_ref(), args.surrogate.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
    output::check_is_no_input(&args.out, &inputs)?;
    output::check_name(&args.out, Product::Model, "pp")?;
    output::check(&args.out, &inputs, Product::Model, args.force)?;
    let Some(report) = &args.report else { return Ok(()) };
    output::check_differs(report, &args.out)?;
    output::check(report, &inputs, Product::Report, args.force)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Writes the model and says how large it is.
fn save(model: &Model, out: &Path) -> Result<u64, Failure> {
    let bytes = model
        .to_bytes()
        .map_err(|error| Failure::new(format!("the model could not be encoded: it {error}")))?;
    write_atomically(out, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Under a limit on the address space memory may be refused at any moment, which ends the process. The best model so far
/// then waits beside the place of the last one.
fn keep_draft(out: PathBuf) -> impl Fn(&Model) + Send + Sync + 'static {
    move |model| {
        if let Ok(bytes) = model.to_bytes() {
            // The search does not end because this cannot be written: the model at its end may be.
            let _ = stand_by(&out, &bytes);
        }
    }
}

/// However a search ends here, nothing waits any more.
struct Waiting;

impl Drop for Waiting {
    fn drop(&mut self) {
        stand_down();
    }
}

/// Tables are read within the budget, and no longer than until Ctrl-C.
struct Reading<'a> {
    args: &'a FitArgs,
    interrupt: &'a Interrupt,
}

impl Reading<'_> {
    /// The rows to learn from, those held out, and what was understood of the former.
    fn training(&self) -> Result<(Dataset, Option<Dataset>, TableReport), Failure> {
        let source = self.args.table.source();
        let mut options = self.args.table.read_options(Some(&self.args.target));
        options.limits.bytes = self.args.memory;
        let table = read(&source, &options, &self.interrupt.check())
            .map_err(|error| self.unread(&source, error))?;
        let mut options = self.args.table.schema_options(Some(&self.args.target));
        options.depends_on = self.args.depends_on();
        let parted = match self.args.holdout {
            Some(share) => Dataset::from_table_holding_out(table, &options, share, self.args.seed)
                .map(|parts| (parts.training, Some(parts.held_out), parts.report)),
            None => Dataset::from_table(table, &options).map(|(all, report)| (all, None, report)),
        };
        parted.map_err(|error| Failure::of_schema(&source.name(), &error))
    }

    fn validation(&self, training: &Dataset) -> Result<Option<Dataset>, Failure> {
        let Some(file) = &self.args.validation else { return Ok(None) };
        let schema = training.schema().expect("a dataset from a table has a schema");
        let reading = &self.args.table.reading;
        let table = read_for(schema, file, reading, AsText::NONE, &CancelCheck::never())?;
        let name = Source::from_argument(file).name();
        Ok(Some(labelled(schema, &name, table, self.args.voice())?.rows.dataset))
    }

    fn unread(&self, source: &Source, error: TableError) -> Failure {
        match error {
            TableError::Cancelled => {
                unread(&source.name(), self.args.time_budget, &self.interrupt.flag())
            }
            error => error.into(),
        }
    }
}

/// Reading was stopped: by Ctrl-C, or because the time was over.
fn unread(file: &str, budget: Duration, interrupted: &AtomicBool) -> Failure {
    if interrupted.load(Ordering::Relaxed) {
        return Failure::new(NOTHING_YET.to_owned());
    }
    let budget = written_duration(budget);
    Failure::with_help(
        format!("{file} could not be read within the time budget of {budget}"),
        "give it more time (--time-budget), or fewer rows".to_owned(),
    )
}
