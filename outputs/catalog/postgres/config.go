package postgres

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// idle is how long a connection is kept for reuse: longer than the pauses between the steps of one command, shorter than
	// an analysis.
	idle = time.Second
	// connectTimeout bounds the wait for a silent host if the URL has no connect_timeout.
	connectTimeout = 10 * time.Second
)

// configOf parses a URL. Its result has the password and must never be shown, nor must the errors of the parsers: they quote
// the URL.
func configOf(text string) (*pgxpool.Config, error) {
	scheme, _, _ := strings.Cut(text, "://")
	if u, err := url.Parse(text); err != nil || scheme != "postgres" && scheme != "postgresql" || u.Fragment != "" {
		return nil, errors.New("this is no URL of a PostgreSQL database; give postgres://USER@HOST:PORT/DATABASE, with %XX for what is special in a password")
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, unreadable(err)
	}
	// There is no limit: a reader may use the catalog while it reads, and readers waiting for each other would wait forever.
	// Writers are limited by Catalog.writing.
	config.MaxConns, config.MinConns, config.MinIdleConns = math.MaxInt16, 0, 0
	config.MaxConnIdleTime, config.HealthCheckPeriod = idle, idle/2
	conn := config.ConnConfig
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec // one round trip, nothing prepared
	conn.StatementCacheCapacity, conn.DescriptionCacheCapacity = 0, 0
	if !strings.Contains(text, "connect_timeout=") && conn.ConnectTimeout > connectTimeout {
		conn.ConnectTimeout = connectTimeout
	}
	conn.DialFunc = dialer(conn.ConnectTimeout)
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = "scidex-oci"
	}
	conn.RuntimeParams["client_encoding"] = "UTF8"
	return config, nil
}

// Check returns why a URL cannot be that of a catalog. It does not connect.
func Check(url string) error {
	_, err := configOf(url)
	return err
}

// Hosts are the hosts of a URL or its defaults: names, addresses, or directories of sockets.
func Hosts(url string) []string {
	config, err := configOf(url)
	if err != nil {
		return nil
	}
	hosts := []string{config.ConnConfig.Host}
	for _, other := range config.ConnConfig.Fallbacks {
		if !slices.Contains(hosts, other.Host) {
			hosts = append(hosts, other.Host)
		}
	}
	return hosts
}

// unreadable explains an invalid parameter without quoting the URL.
func unreadable(err error) error {
	const what = "the URL of the PostgreSQL database cannot be used"
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		if cause := errors.Unwrap(parse); cause != nil {
			return fmt.Errorf("%s: %w", what, cause)
		}
	}
	return errors.New(what + "; see libpq's \"Connection URIs\" and \"Parameter Key Words\"")
}

// server names the database to a person: all but the password.
type server struct{ host, port, database, user string }

func serverOf(conn *pgx.ConnConfig) server {
	return server{host: conn.Host, port: strconv.Itoa(int(conn.Port)), database: conn.Database, user: conn.User}
}

func (s server) String() string {
	where := net.JoinHostPort(s.host, s.port)
	if strings.HasPrefix(s.host, "/") {
		where = s.host + "/.s.PGSQL." + s.port
	}
	database := s.database
	if database == "" {
		database = s.user // PostgreSQL's own default
	}
	return fmt.Sprintf("%s, database %q, user %q", where, database, s.user)
}
