//go:build !linux

package scratch

import "errors"

func mapped(int) (b []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
