// An interval as long as a scope.
//
//	void parse() {
//		tare::interval i(recorder, kind, parse_label);
//		…
//	}
//
// Header only; everything else is in tare/record.h. An interval belongs to the thread that made it.
#ifndef TARE_RECORD_HPP
#define TARE_RECORD_HPP

#include <tare/record.h>

namespace tare {

class interval {
public:
	interval(tare_record_thread *thread, uint64_t kind, uint64_t id) : thread_(thread)
	{
		tare_record_begin(thread_, &interval_, kind, id);
	}
	interval(tare_recorder *recorder, uint64_t kind, uint64_t id)
		: interval(tare_record_here(recorder), kind, id)
	{
	}
	~interval() { end(); }
	interval(const interval &) = delete;
	interval &operator=(const interval &) = delete;

	// Ends the interval before its scope ends.
	void end() { tare_record_end(thread_, &interval_); }

private:
	tare_record_thread *thread_;
	tare_interval interval_;
};

} // namespace tare

#endif
