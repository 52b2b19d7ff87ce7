#!/usr/bin/tclsh
# A client of run.sh in Tcl. Its values have no types: SQLite is asked for them.
package require sqlite3
fconfigure stdin -encoding utf-8
fconfigure stdout -encoding utf-8 -buffering line

proc connect {path milliseconds} {
    sqlite3 db $path
    db timeout $milliseconds
    db enable_load_extension 1
    db eval {SELECT load_extension($::env(PTABLE))}
    db enable_load_extension 0
}

# A column of the result as it is; its type from typeof() cannot be had of any SELECT.
proc query {sql} {
    set rows {}
    db eval $sql row {
        set fields {}
        foreach name $row(*) {
            lappend fields $row($name)
        }
        lappend rows [join $fields |]
    }
    return [join $rows ";"]
}

proc insert {table} {
    set text "it's \"ünï\" €" ;# Tcl 8.6 itself has no characters beyond U+FFFF
    set blob [binary format H* 00ff27]
    set large 9223372036854775807
    set small -9223372036854775808
    set nothing ""
    db transaction {
        db eval "INSERT INTO $table VALUES('p', '1', \$text || char(119070), CAST(\$large AS INT), 0.1, @blob, NULL)"
        db eval "INSERT INTO $table VALUES('p', '2', \$nothing, CAST(\$small AS INT), -2.5, x'00', NULL)"
    }
}

proc repeat {name count} {
    for {set i 0} {$i < $count} {incr i} {
        db transaction immediate {
            db eval {INSERT INTO Item(PartitionKey, RowKey) VALUES($name, $i)}
            db eval {UPDATE Counter SET N = N + 1}
        }
    }
}

proc perform {command rest} {
    switch $command {
        open { connect [regsub { \d+$} $rest {}] [lindex $rest end] }
        run - query { return [query $rest] }
        insert { insert $rest }
        repeat { repeat {*}$rest }
        close { db close }
        forget { }
        leave {
            puts "ok "
            exit 0
        }
    }
    return ""
}

while {[gets stdin line] >= 0} {
    set at [string first " " "$line "]
    if {[catch {perform [string range $line 0 $at-1] [string range $line $at+1 end]} answer]} {
        puts "error [expr {[db errorcode] & 255}] $answer"
    } else {
        puts "ok $answer"
    }
}
