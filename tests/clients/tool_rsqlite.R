# RSQLite: data frames in and out, parameters, transactions.
suppressMessages(library(DBI))
options(warn = 2)

# The checks of test_tools.sh; compares as text.
check <- function(name, expected, actual) {
  expected <- paste(format(expected, trim = TRUE), collapse = "|")
  actual <- paste(format(actual, trim = TRUE), collapse = "|")
  if (identical(expected, actual)) {
    cat("ok - ", name, "\n", sep = "")
  } else {
    cat("not ok - ", name, "\n# expected: ", expected, "\n# actual:   ", actual, "\n", sep = "")
  }
}

check_refused <- function(name, text, expression) {
  message <- tryCatch({ expression; "no error" }, error = conditionMessage)
  check(name, text, if (grepl(text, message, fixed = TRUE)) text else message)
}

db <- dbConnect(RSQLite::SQLite(), Sys.getenv("DATABASE"), loadable.extensions = TRUE)
done <- dbExecute(db, sprintf("SELECT load_extension('%s')", Sys.getenv("PTABLE")))

etags <- function() {
  rows <- dbGetQuery(db, "SELECT rowid AS id, ETag FROM Employee")
  setNames(rows$ETag, rows$id)
}

before <- etags()
changed <- dbExecute(db, "UPDATE Employee SET FirstName = ? WHERE PartitionKey = ? AND RowKey = ?",
                     params = list("Jane", "Sales", "000223"))
check("rows that UPDATE changes", 1L, changed)
after <- etags()
check("UPDATE changes one row", "Sales/000223", names(after)[after != before[names(after)]])

done <- dbExecute(db, "CREATE VIRTUAL TABLE Reading USING ptable(T String, L Int64, D Double, N Int32, W DateTime, F Boolean)")
frame <- data.frame(PartitionKey = "p", RowKey = c("1", "2"), T = c("\u00e9", NA), L = c(1, 2),
                    D = c(0.5, NA), N = 1:2, W = c("2026-11-21 08:00", NA), F = c(TRUE, FALSE))
check("rows that dbAppendTable appends", 2, dbAppendTable(db, "Reading", frame))
frame$RowKey <- c(3, 4)
check_refused("keys that are numbers", "RowKey is the REAL 3.0; give a text", dbAppendTable(db, "Reading", frame))
frame$RowKey <- c(3L, 4L)
done <- dbWriteTable(db, "Reading", frame, append = TRUE)
back <- dbReadTable(db, "Reading")
check("names", c("PartitionKey", "RowKey", "T", "L", "D", "N", "W", "F"), names(back))
check("keys that are integers", c("1", "2", "3", "4"), back$RowKey)
check("values come back", c("\u00e9", "1", "0.5", "1", "2026-11-21T08:00:00.0000000Z", "1"),
      unlist(lapply(back[1, 3:8], as.character)))
check("and what is absent", c(TRUE, FALSE, TRUE, FALSE, TRUE, FALSE), unlist(lapply(back[2, 3:8], is.na)))
for (key in list("3", 3, 3L)) {
  found <- dbGetQuery(db, "SELECT N FROM Reading WHERE PartitionKey = 'p' AND RowKey = ?", params = list(key))
  check(paste("a key that is a", class(key)), 1L, found$N)
}
done <- dbExecute(db, "INSERT INTO Reading(PartitionKey, RowKey, L) VALUES ('q', '1', ?)",
                  params = list(bit64::as.integer64("9223372036854775807")))
check("a long integer", "9223372036854775807",
      as.character(dbGetQuery(db, "SELECT L FROM Reading WHERE rowid = 'q/1'")$L))

check_refused("an entity that exists", "(EntityAlreadyExists)", dbAppendTable(db, "Reading", frame))
frame$RowKey <- c("5", "6")
frame$W <- as.POSIXct(c("2026-11-21 08:00:00", NA), tz = "UTC")
check_refused("a time that R has made a number", "is not a DateTime; give text of the form YYYY-MM-DD",
              dbAppendTable(db, "Reading", frame))
frame$W <- format(frame$W)
check("a time as text", 2, dbAppendTable(db, "Reading", frame))
dbWithTransaction(db, {
  dbExecute(db, "DELETE FROM Reading")
  dbBreak()
})
check("a transaction that is given up", 7L, dbGetQuery(db, "SELECT count(*) AS n FROM Reading")$n)
dbDisconnect(db)
