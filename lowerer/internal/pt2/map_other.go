//go:build !unix

package pt2

import (
	"errors"
	"os"
)

func mapFile(*os.File, int64) ([]byte, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}

func release([]byte) {}
