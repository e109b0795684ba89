// Command crowdsec is the local API of CrowdSec with a SQLite database, one bouncer and one machine, and no central API.
// `--database` is the database's file, `--port` a port of 127.0.0.1, `--bouncer-key` and `--machine-password` are credentials.
//
// It ends when its standard input closes: whoever starts it holds the other end, so it never outlives a test run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/crowdsecurity/crowdsec/pkg/apiserver"
	"github.com/crowdsecurity/crowdsec/pkg/apiserver/middlewares/v1"
	"github.com/crowdsecurity/crowdsec/pkg/csconfig"
	"github.com/crowdsecurity/crowdsec/pkg/database"
	"github.com/crowdsecurity/crowdsec/pkg/types"
	"github.com/go-openapi/strfmt"
	"github.com/sirupsen/logrus"
)

const (
	bouncerName = "wafsync"
	machineName = "machine"
)

func main() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	file := flag.String("database", "", "the file of the database")
	port := flag.Int("port", 0, "a port of 127.0.0.1")
	key := flag.String("bouncer-key", "", "the API key of the bouncer")
	password := flag.String("machine-password", "", "the password of the machine")
	flag.Parse()
	logrus.SetLevel(logrus.WarnLevel)

	databaseConfig := &csconfig.DatabaseCfg{Type: "sqlite", DbPath: *file, LogLevel: logrus.WarnLevel}
	if err := createAccounts(ctx, databaseConfig, *key, *password); err != nil {
		return err
	}
	never := false
	server, err := apiserver.NewServer(ctx, &csconfig.LocalApiServerCfg{
		DbConfig:      databaseConfig,
		ConsoleConfig: &csconfig.ConsoleConfig{ShareManualDecisions: &never},
		LogLevel:      logrus.WarnLevel,
	}, nil)
	if err != nil {
		return err
	}
	if err := server.InitController(); err != nil {
		return err
	}
	router, err := server.Router()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, router)
}

// The accounts of an earlier run with the same database stay.
func createAccounts(ctx context.Context, config *csconfig.DatabaseCfg, key string, password string) error {
	client, err := database.NewClient(ctx, config, logrus.StandardLogger().WithFields(nil))
	if err != nil {
		return err
	}
	defer client.Close()
	bouncers, err := client.ListBouncers(ctx)
	if err != nil || len(bouncers) > 0 {
		return err
	}
	if _, err := client.CreateBouncer(ctx, bouncerName, "", v1.HashSHA512(key), types.ApiKeyAuthType, false); err != nil {
		return err
	}
	machine := machineName
	secret := strfmt.Password(password)
	_, err = client.CreateMachine(ctx, &machine, &secret, "", true, true, types.PasswordAuthType)
	return err
}
