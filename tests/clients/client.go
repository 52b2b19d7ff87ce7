// A client of run.sh in Go, with database/sql, whose connections are a pool.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/mattn/go-sqlite3"
)

var (
	pool      *sql.DB
	db        *sql.Conn
	abandoned *sql.Rows
	ctx       = context.Background()
)

func open(path string, milliseconds string) (*sql.DB, error) {
	return sql.Open("ptable", "file:"+path+"?_busy_timeout="+milliseconds)
}

func shown(value interface{}) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case int64:
		return "integer:" + strconv.FormatInt(v, 10)
	case float64:
		return "real:" + strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return fmt.Sprintf("blob:%x", v)
	}
	return fmt.Sprintf("text:%v", value)
}

func row(rows *sql.Rows) (string, error) {
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values := make([]interface{}, len(names))
	places := make([]interface{}, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	if err := rows.Scan(places...); err != nil {
		return "", err
	}
	fields := make([]string, len(values))
	for i, value := range values {
		fields[i] = shown(value)
	}
	return strings.Join(fields, "|"), nil
}

func query(text string) (string, error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		one, err := row(rows)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, ";"), rows.Err()
}

func insert(table string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	rows := [][]interface{}{
		{"p", "1", "it's \"ünï\" €𝄞", int64(math.MaxInt64), 0.1, []byte{0, 255, '\''}, nil},
		{"p", "2", "", int64(math.MinInt64), -2.5, []byte{0}, nil}}
	for _, values := range rows {
		if _, err := tx.Exec("INSERT INTO "+table+" VALUES(?,?,?,?,?,?,?)", values...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func repeat(connection *sql.Conn, name string, count int) error {
	for i := 0; i < count; i++ {
		_, err := connection.ExecContext(ctx, "BEGIN IMMEDIATE; INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?);"+
			"UPDATE Counter SET N = N + 1; COMMIT", name, strconv.Itoa(i))
		if err != nil {
			return err
		}
	}
	return nil
}

func repeatInThread(opened *sql.DB, name string, count int) error {
	connection, err := opened.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	return repeat(connection, name, count)
}

func threads(path string, number int, count int) error {
	opened, err := open(path, "60000")
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, number)
	for t := 0; t < number; t++ {
		group.Add(1)
		go func(t int) {
			defer group.Done()
			failures[t] = repeatInThread(opened, fmt.Sprintf("thread-%d", t), count)
		}(t)
	}
	group.Wait()
	for _, failure := range failures {
		if failure != nil {
			return failure
		}
	}
	return nil
}

func abandon(text string) (string, error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return "", err
	}
	abandoned = rows
	if !rows.Next() {
		return "", rows.Err()
	}
	return row(rows)
}

func perform(command string, rest string) (string, error) {
	words := strings.Split(rest, " ")
	switch command {
	case "open":
		var err error
		if pool, err = open(words[0], words[1]); err == nil {
			db, err = pool.Conn(ctx)
		}
		return "", err
	case "run", "query":
		return query(rest)
	case "insert":
		return "", insert(rest)
	case "repeat":
		count, _ := strconv.Atoi(words[1])
		return "", repeat(db, words[0], count)
	case "threads":
		number, _ := strconv.Atoi(words[1])
		count, _ := strconv.Atoi(words[2])
		return "", threads(words[0], number, count)
	case "abandon":
		return abandon(rest)
	case "close":
		go db.Close() // waits for the abandoned rows
		return "", nil
	case "forget":
		if abandoned != nil {
			abandoned.Close()
		}
		return "", pool.Close()
	}
	return "", fmt.Errorf("no command %s", command)
}

func main() {
	sql.Register("ptable", &sqlite3.SQLiteDriver{Extensions: []string{os.Getenv("PTABLE")}})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		request := strings.SplitN(in.Text()+" ", " ", 2)
		rest := strings.TrimSuffix(request[1], " ")
		if request[0] == "leave" {
			fmt.Println("ok ")
			os.Exit(0)
		}
		answer, err := perform(request[0], rest)
		if failure, known := err.(sqlite3.Error); known {
			fmt.Println("error", int(failure.Code), failure.Error())
		} else if err != nil {
			fmt.Println("error 0", err)
		} else {
			fmt.Println("ok", answer)
		}
	}
}
