// Package third imports a package of another module.
package third

import "github.com/pkg/errors"

// ErrUser is made by it.
var ErrUser = errors.New("npu")
