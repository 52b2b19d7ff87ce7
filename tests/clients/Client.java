// A client of run.sh in Java, with the JDBC driver.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.sqlite.SQLiteConfig;

public final class Client {
    private static final int PATIENCE_MS = 60_000;
    private static Connection db;
    private static ResultSet abandoned;

    private static Connection connect(String path, int milliseconds) throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.enableLoadExtension(true);
        config.setBusyTimeout(milliseconds);
        Connection opened = DriverManager.getConnection("jdbc:sqlite:" + path, config.toProperties());
        try (Statement statement = opened.createStatement()) {
            statement.execute("SELECT load_extension('" + System.getenv("PTABLE") + "')");
        }
        return opened;
    }

    private static String shown(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[]) {
            StringBuilder text = new StringBuilder("blob:");
            for (byte b : (byte[]) value) {
                text.append(String.format("%02x", b));
            }
            return text.toString();
        }
        return (value instanceof Double ? "real:" : value instanceof String ? "text:" : "integer:") + value;
    }

    private static String rows(ResultSet result) throws SQLException {
        int columns = result.getMetaData().getColumnCount();
        List<String> rows = new ArrayList<>();
        while (result.next()) {
            List<String> row = new ArrayList<>();
            for (int i = 1; i <= columns; i++) {
                row.add(shown(result.getObject(i)));
            }
            rows.add(String.join("|", row));
        }
        return String.join(";", rows);
    }

    private static String query(String sql) throws SQLException {
        try (Statement statement = db.createStatement()) {
            return statement.execute(sql) ? rows(statement.getResultSet()) : "";
        }
    }

    private static void insert(String table) throws SQLException {
        Object[][] rows = {
            {"p", "1", "it's \"ünï\" €\uD834\uDD1E", Long.MAX_VALUE, 0.1, new byte[] {0, -1, '\''}, null},
            {"p", "2", "", Long.MIN_VALUE, -2.5, new byte[] {0}, null}};
        db.setAutoCommit(false);
        try (PreparedStatement statement =
                db.prepareStatement("INSERT INTO " + table + " VALUES(?,?,?,?,?,?,?)")) {
            for (Object[] row : rows) {
                for (int i = 0; i < row.length; i++) {
                    statement.setObject(i + 1, row[i]);
                }
                statement.addBatch();
            }
            statement.executeBatch();
            db.commit();
        } finally {
            db.setAutoCommit(true);
        }
    }

    private static void repeat(Connection connection, String name, int count) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (int i = 0; i < count; i++) {
                statement.execute("BEGIN IMMEDIATE");
                statement.execute("INSERT INTO Item(PartitionKey, RowKey) VALUES('" + name + "', '" + i + "')");
                statement.execute("UPDATE Counter SET N = N + 1");
                statement.execute("COMMIT");
            }
        }
    }

    private static void threads(String path, int number, int count) throws Exception {
        List<Exception> failures = new ArrayList<>();
        List<Thread> started = new ArrayList<>();
        for (int t = 0; t < number; t++) {
            String name = "thread-" + t;
            Thread thread = new Thread(() -> {
                try {
                    repeat(connect(path, PATIENCE_MS), name, count);
                } catch (SQLException e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            });
            thread.start();
            started.add(thread);
        }
        for (Thread thread : started) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw failures.get(0);
        }
    }

    private static String perform(String command, String rest) throws Exception {
        String[] words = rest.split(" ");
        switch (command) {
            case "open":
                db = connect(words[0], Integer.parseInt(words[1]));
                return "";
            case "run":
            case "query":
                return query(rest);
            case "insert":
                insert(rest);
                return "";
            case "repeat":
                repeat(db, words[0], Integer.parseInt(words[1]));
                return "";
            case "threads":
                threads(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                return "";
            case "abandon":
                abandoned = db.createStatement().executeQuery(rest);
                abandoned.next();
                return shown(abandoned.getObject(1));
            case "close":
                db.close();
                return "";
            case "forget":
                abandoned = null;
                db = null;
                System.gc();
                return "";
            default:
                throw new IllegalArgumentException(command);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            String[] request = line.split(" ", 2);
            if (request[0].equals("leave")) {
                out.println("ok ");
                System.exit(0);
            }
            try {
                out.println("ok " + perform(request[0], request.length > 1 ? request[1] : ""));
            } catch (SQLException e) {
                out.println("error " + (e.getErrorCode() & 0xff) + " " + e.getMessage());
            }
        }
    }
}
