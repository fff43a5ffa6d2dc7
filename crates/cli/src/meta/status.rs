//! `pitchpipe meta status`.

use std::time::SystemTime;

use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::share::{Status, read_status};

use super::args::StatusArgs;
use crate::failure::Failure;
use crate::text::{counted, shown};

/// A driver writes every two seconds or so; after this long without a word it is thought lost.
const SILENCE_SECS: f64 = 30.0;

/// So many of what failed are named.
const MOST_NAMED: usize = 10;

pub(super) fn run(args: &StatusArgs) -> Result<String, Failure> {
    // A store that is none is said to be none.
    Store::open(&args.store)?;
    let status = read_status(&args.store)?.ok_or_else(|| {
        let store = args.store.display();
        let message = format!("{store}: nothing was collected into this store on a cluster");
        Failure::with_help(message, format!("pitchpipe meta info {store} says what it holds"))
    })?;
    if args.json {
        return Ok(serde_json::to_string(&status).expect("a status is plain data") + "\n");
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Ok(in_words(&status, now.map_or(0.0, |now| now.as_secs_f64())))
}

fn in_words(status: &Status, now: f64) -> String {
    let state = match (status.is_over, now - status.written_at) {
        (true, _) => "over".to_owned(),
        (false, silence) if silence > SILENCE_SECS => {
            format!("not heard of for {silence:.0} s; the same command again goes on with it")
        }
        (false, _) => "running".to_owned(),
    };
    let Status { n_tables_done, n_tables, n_done, n_planned, n_added, .. } = status;
    let mut text = format!(
        "{state}, after {:.0} s\n\
         tables     {n_tables_done} of {n_tables} done\n\
         entries    {n_done} of {n_planned} in the store (of tables that were measured), {n_added} added by this run\n\
         speed      {:.1} entries a second, {:.0} CPU s so far\n\
         left       {:.0} CPU s in measured tables, as expected\n\
         tasks      {} on {}, {} came back, {} asked for again\n",
        status.elapsed_secs,
        status.entries_per_sec,
        status.cpu_secs,
        status.secs_left,
        status.n_in_flight,
        counted(status.n_workers, "worker"),
        status.n_tasks,
        status.n_retries,
    );
    let named = |lines: Vec<String>| {
        let more = lines.len().saturating_sub(MOST_NAMED);
        let mut text: String = lines.into_iter().take(MOST_NAMED).map(|l| l + "\n").collect();
        if more > 0 {
            text += &format!("  and {more} more; --json tells all\n");
        }
        text
    };
    let given_up = status.given_up.iter().map(|g| {
        let n = counted(g.pipelines.len(), "pipeline");
        format!("given up   {n} on {}: {}", shown(&g.dataset, 40), shown(&g.reason, 200))
    });
    text += &named(given_up.collect());
    let skipped = status.skipped.iter();
    text += &named(
        skipped
            .map(|(name, why)| format!("passed over {}: {}", shown(name, 40), shown(why, 200)))
            .collect(),
    );
    let same = status.duplicates.iter();
    text += &named(
        same.map(|(name, of)| {
            format!("the same   {} has the content of {}", shown(name, 40), shown(of, 40))
        })
        .collect(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_fell_silent_is_said_to_be_lost() {
        let status = Status { written_at: 1000.0, ..Status::default() };
        assert!(in_words(&status, 1002.0).starts_with("running"));
        assert!(in_words(&status, 1100.0).starts_with("not heard of for 100 s"));
        let over = Status { is_over: true, ..status };
        assert!(in_words(&over, 1100.0).starts_with("over"));
    }
}
