// Clusterpedia's writer: changes rows as its synchro manager does when watches bring events. Follows `Update` of
// pkg/storage/internalstorage/resource_storage.go: the object is encoded, and one statement of gorm writes one row. What comes before it is left out, in
// its favour: the informer's cache, the queue of events, the decoding of the event, the conversion to the version that is stored.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// As many rows as the writers of the index change.
	mostChanged = 50_000
	// One worker writes the events of one type of one cluster. Where more write at once than connections may stay idle, connections are closed and
	// opened again all the time.
	writersAtOnce = maxIdleConns
)

// write changes rows for some seconds and prints how many. It ends when standard input does, so that its CPU time can be read before.
func write(database string, seconds int) error {
	db, err := openStorage(database)
	if err != nil {
		return err
	}
	var rows []Resource
	if err := db.Model(&Resource{}).Order("md5(uid)").Limit(mostChanged).Find(&rows).Error; err != nil {
		return err
	}
	objects := make([]*unstructured.Unstructured, len(rows))
	for i := range rows {
		objects[i] = &unstructured.Unstructured{}
		if err := objects[i].UnmarshalJSON(rows[i].Object); err != nil {
			return err
		}
		rows[i].Object = nil
	}
	fmt.Println("ready")
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	var changed atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, writersAtOnce)
	for writer := range writersAtOnce {
		group.Go(func() {
			for turn := 1; ; turn++ {
				for i := writer; i < len(rows); i += writersAtOnce {
					if time.Now().After(until) {
						return
					}
					if err := update(db, &rows[i], objects[i], turn); err != nil {
						failures <- err
						return
					}
					changed.Add(1)
				}
			}
		})
	}
	group.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	fmt.Println(changed.Load())
	_, _ = io.Copy(io.Discard, input)
	return nil
}

func update(db *gorm.DB, row *Resource, object *unstructured.Unstructured, turn int) error {
	object.SetResourceVersion(strconv.Itoa(2_000_000 + turn))
	object.Object["turn"] = fmt.Sprintf("%d-%d-%d", os.Getpid(), turn, time.Now().UnixMilli())
	encoded, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	owner := ""
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		owner = string(controller.UID)
	}
	result := db.WithContext(context.Background()).Model(&Resource{}).Where(map[string]any{
		"cluster": row.Cluster, "group": row.Group, "version": row.Version, "resource": row.Resource,
		"namespace": row.Namespace, "name": row.Name,
	}).Updates(map[string]any{
		"owner_uid":        owner,
		"uid":              string(object.GetUID()),
		"resource_version": object.GetResourceVersion(),
		"object":           string(encoded),
		"created_at":       object.GetCreationTimestamp().Time,
	})
	if result.Error == nil && result.RowsAffected != 1 {
		return fmt.Errorf("%d rows have the key of %s", result.RowsAffected, row.Name)
	}
	return result.Error
}
