//! Signals where there are no more than two: Ctrl-C and a request to end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Listens from here on. If the command is patient, the first signal only raises the flag that is returned.
pub(crate) fn listen(is_patient: bool) -> Result<Arc<AtomicBool>, Failure> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM].into_iter().filter(|_| is_patient) {
        // In this order: the first signal finds the flag down and raises it, the second finds it up.
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&raised))
            .and_then(|_| flag::register(signal, Arc::clone(&raised)))
            .map_err(|e| Failure::new(format!("signals cannot be listened to: {e}")))?;
    }
    Ok(raised)
}
