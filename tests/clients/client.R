# A client of test_clients.sh in R, with RSQLite. It shows no codes of errors, so `error` is followed
# by the code that the text belongs to.
suppressPackageStartupMessages({
  library(DBI)
  library(bit64)
})
state <- new.env()

connect <- function(path, milliseconds) {
  db <- dbConnect(RSQLite::SQLite(), path, loadable.extensions = TRUE)
  dbExecute(db, sprintf("SELECT load_extension('%s')", Sys.getenv("PTABLE")))
  dbExecute(db, paste("PRAGMA busy_timeout =", milliseconds))
  db
}
