//! Errors of the library as Python exceptions with the same text.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyValueError};
use rffblr::Error;
use rffblr::data::EncodeError;
use rffblr::table::ColumnsError;
use rffblr_tables::TableError;
use std::io::ErrorKind;

/// An error on its way to Python.
pub struct Failure(PyErr);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        failure.0
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        Failure(match &error {
            Error::Io { cause, .. } => of_system(cause.kind(), text),
            Error::Table(problem) => match problem.downcast_ref() {
                Some(TableError::Read { cause, .. } | TableError::Write { cause }) => of_system(cause.kind(), text),
                Some(TableError::NoFiles { .. } | TableError::Vanished { .. }) => PyFileNotFoundError::new_err(text),
                _ => PyValueError::new_err(text),
            },
            _ => PyValueError::new_err(text),
        })
    }
}

/// What the operating system said about a file.
fn of_system(kind: ErrorKind, text: String) -> PyErr {
    match kind {
        ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Failure {
        Error::from(error).into()
    }
}

impl From<ColumnsError> for Failure {
    fn from(error: ColumnsError) -> Failure {
        Error::from(error).into()
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Failure {
        Failure(error)
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Failure {
        Error::from(error).into()
    }
}
