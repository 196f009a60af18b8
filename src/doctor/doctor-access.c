/* The doctor's checks of access: does the kernel let us count, is there
 * something to count with, and can the software engine start.
 *
 * The same errno has several causes; they are told apart by trying an event
 * that nobody has a reason to refuse (a software event that counts nothing, in
 * user mode, of the calling thread). */
#include "doctor-checks.h"

#include "clocale.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38		/* Linux 5.8 */
#endif

/* How a hypervisor names itself in cpuid, in DMI or in /sys/hypervisor, and
 * what its owner can do to show the PMU. */
struct hypervisor {
	const char *signature;		/* cpuid leaf 0x40000000 */
	const char *dmi;		/* starts sys_vendor or product_name */
	const char *name;
	const char *remedy;
};

#define ELSE_SOFT "; otherwise count with the software engine (--backend soft, the default here)"

static const struct hypervisor hypervisors[] = {
	{ "KVMKVMKVM", "KVM", "KVM",
	  "on the host: qemu -cpu host,pmu=on (libvirt: <pmu state='on'/>); in clouds a "
	  "metal or whole-socket instance shows its PMU" ELSE_SOFT },
	{ "", "QEMU", "QEMU", "on the host: qemu -cpu host,pmu=on with KVM" ELSE_SOFT },
	{ "TCGTCGTCGTCG", NULL, "QEMU (emulation)",
	  "emulation gives x86 guests no PMU: run the guest under KVM" ELSE_SOFT },
	{ "VMwareVMware", "VMware", "VMware",
	  "in the VM's settings: Virtualize CPU performance counters (vpmc.enable = \"TRUE\")"
	  ELSE_SOFT },
	{ "Microsoft Hv", "Microsoft Corporation", "Hyper-V",
	  "on the host: Set-VMProcessor NAME -Perfmon @(\"pmu\") with the VM off; Azure, WSL 2 and "
	  "hosted CI runners do not offer it" ELSE_SOFT },
	{ "XenVMMXenVMM", "Xen", "Xen", "boot the hypervisor with vpmu=on" ELSE_SOFT },
	{ "VBoxVBoxVBox", "innotek GmbH", "VirtualBox",
	  "VirtualBox has no virtual PMU: use another hypervisor" ELSE_SOFT },
	{ "prl hyperv  ", "Parallels", "Parallels",
	  "in the VM's CPU settings: enable PMU virtualization" ELSE_SOFT },
	{ " lrpepyh vr", NULL, "Parallels",
	  "in the VM's CPU settings: enable PMU virtualization" ELSE_SOFT },
	{ "bhyve bhyve ", "BHYVE", "bhyve", "bhyve has no virtual PMU" ELSE_SOFT },
	{ "ACRNACRNACRN", NULL, "ACRN", "give the VM the core's PMU in its scenario" ELSE_SOFT },
	{ "", "Amazon EC2", "Amazon EC2",
	  "use a metal instance, or a size that owns a whole socket" ELSE_SOFT },
	{ "", "Google", "Google Compute Engine",
	  "create the instance with --performance-monitoring-unit=standard" ELSE_SOFT },
	{ "", "Apple Virtualization", "Apple's Virtualization framework",
	  "the framework offers no PMU" ELSE_SOFT },
};

#define N_HYPERVISORS (sizeof(hypervisors) / sizeof(hypervisors[0]))

static bool starts(const char *text, const char *prefix)
{
	return prefix && prefix[0] && !clocale_ncasecmp(text, prefix, strlen(prefix));
}

static bool same_signature(const char *seen, const char *known)
{
	/* The signature is 12 bytes, padded with NULs or spaces by its maker. */
	size_t n = strlen(known);
	while (n && known[n - 1] == ' ')
		n--;
	return n && !strncmp(seen, known, n);
}

static const struct hypervisor *find_hypervisor(const struct doctor *d)
{
	const struct doctor_facts *const f = &d->facts;
	const char *const signature = d->report->cpu.hypervisor;

	for (size_t i = 0; signature[0] && i < N_HYPERVISORS; i++)
		if (same_signature(signature, hypervisors[i].signature))
			return &hypervisors[i];
	/* Microsoft and Google make real computers too: DMI names count only
	 * where the CPU says that it is virtual, or has no way to say so. */
	const bool may_be_virtual = f->flag_hypervisor ||
				    d->report->cpu.arch != TARE_ARCH_X86_64;
	for (size_t i = 0; may_be_virtual && i < N_HYPERVISORS; i++)
		if (starts(f->dmi_vendor, hypervisors[i].dmi) ||
		    starts(f->dmi_product, hypervisors[i].dmi) ||
		    starts(f->hypervisor_type, hypervisors[i].dmi))
			return &hypervisors[i];
	return NULL;
}

static const char *hypervisor_name(const struct doctor *d, const struct hypervisor *h)
{
	if (h)
		return h->name;
	if (d->report->cpu.hypervisor[0])
		return d->report->cpu.hypervisor;
	return d->facts.flag_hypervisor ? "a hypervisor without a name" : NULL;
}

static int try_open(const struct doctor *d, const struct tare_encoding *e)
{
	return d->probes->open(d->probes->arg, e);
}

void doctor_check_perf(struct doctor *d)
{
	struct tare_encoding e = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
				   .exclude_kernel = true, .exclude_hv = true };
	const int err = d->perf_err = try_open(d, &e);
	const bool filtered = d->facts.seccomp == 2;
	const char *const text = strerror(-err);

	e.exclude_kernel = e.exclude_hv = false;
	d->kernel_mode = err == 0 && try_open(d, &e) == 0;
	if (err == 0)
		return doctor_find(d, FIND_PERF_WORKS, "perf_event_open works (%s)",
				   d->kernel_mode ? "user and kernel mode" : "user mode only");
	if (err == -EACCES && d->facts.paranoid >= 3)
		return doctor_find(d, FIND_PERF_PARANOID,
				   "perf_event_open: %s; kernel.perf_event_paranoid is %d", text,
				   d->facts.paranoid);
	if (filtered && (err == -EPERM || err == -ENOSYS || err == -EACCES))
		return doctor_find(d, FIND_PERF_SECCOMP,
				   "perf_event_open: %s, and a seccomp filter is in place", text);
	if (err == -ENOSYS)
		return doctor_find(d, FIND_PERF_ABSENT, "perf_event_open: %s", text);
	doctor_find(d, FIND_PERF_REFUSED, "perf_event_open of a software event: %s", text);
}

static void pmu_not_there(struct doctor *d, const struct hypervisor *h)
{
	const char *const text = strerror(-d->pmu_err);

	if (!d->hypervisor)
		return doctor_find(d, FIND_PMU_MISSING, "instructions:u cannot be opened: %s", text);
	doctor_find(d, FIND_PMU_HIDDEN, "hidden by %s: instructions:u cannot be opened (%s)",
		    d->hypervisor, text);
	if (h)
		doctor_set_remedy(d, h->remedy);
}

void doctor_check_pmu(struct doctor *d)
{
	const struct tare_encoding e = doctor_generic(PERF_COUNT_HW_INSTRUCTIONS);
	const struct hypervisor *const h = find_hypervisor(d);
	const char *const pmus = d->facts.core_pmus[0] ? d->facts.core_pmus : "not in sysfs";

	d->hypervisor = hypervisor_name(d, h);
	d->pmu_err = try_open(d, &e);
	switch (-d->pmu_err) {
	case 0:
		if (d->facts.simulated[0])
			return doctor_find(d, FIND_PMU_SIMULATED, "simulated by tare run: %s",
					   d->facts.simulated);
		if (d->hypervisor)
			return doctor_find(d, FIND_PMU_PRESENT_VM,
					   "present, shown by %s (PMU: %s)", d->hypervisor, pmus);
		return doctor_find(d, FIND_PMU_PRESENT, "present (PMU: %s)", pmus);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return pmu_not_there(d, h);
	case EACCES:
	case EPERM:
	case ENOSYS:
		return doctor_find(d, FIND_PMU_REFUSED, "instructions:u cannot be opened: %s",
				   strerror(-d->pmu_err));
	case EBUSY:
		return doctor_find(d, FIND_PMU_BUSY, "instructions:u cannot be opened: %s",
				   strerror(EBUSY));
	default:
		return doctor_find(d, FIND_PMU_ERROR, "instructions:u cannot be opened: %s",
				   strerror(-d->pmu_err));
	}
}

static void engine_refused(struct doctor *d, int err)
{
	const char *const text = strerror(-err);
	const int yama = d->facts.yama;

	d->engine_reason = "ptrace is refused, so the software engine cannot start";
	if (yama >= 3)
		return doctor_find(d, FIND_ENGINE_YAMA_NONE,
				   "tracing a child: %s; kernel.yama.ptrace_scope is %d", text, yama);
	if (yama == 2)
		return doctor_find(d, FIND_ENGINE_YAMA_ADMIN,
				   "tracing a child: %s; kernel.yama.ptrace_scope is 2", text);
	if (d->facts.seccomp == 2)
		return doctor_find(d, FIND_ENGINE_SECCOMP,
				   "tracing a child: %s, and a seccomp filter is in place", text);
	doctor_find(d, FIND_ENGINE_REFUSED, "tracing a child: %s", text);
}

void doctor_check_engine(struct doctor *d)
{
	if (d->report->cpu.arch != TARE_ARCH_X86_64) {
		d->engine_reason = "the software engine is for x86-64 only";
		return doctor_find(d, FIND_ENGINE_ARCH, "not available on this architecture");
	}
	struct tare_why why = { 0 };
	const int code = d->probes->engine(d->probes->arg, &why);
	if (code == TARE_E_NO_PROC) {
		d->engine_reason = "the software engine needs /proc";
		return doctor_find(d, FIND_ENGINE_NO_PROC, "%s",
				   why.what[0] ? why.what : tare_err_sentence(code));
	}
	/* That ptrace is refused is found out below, with the errno. */
	if (code && code != TARE_E_NO_PTRACE) {
		d->engine_reason = "the software engine cannot start";
		return doctor_find(d, FIND_ENGINE_ABSENT, "%s",
				   why.what[0] ? why.what : tare_err_sentence(code));
	}
	const int err = d->probes->trace(d->probes->arg);
	if (err || code)
		return engine_refused(d, err ? err : why.sys_errno ? -why.sys_errno : -EPERM);
	if (d->facts.yama == FACT_ABSENT)
		return doctor_find(d, FIND_ENGINE_WORKS, "a child could be traced over its exec");
	doctor_find(d, FIND_ENGINE_WORKS,
		    "a child could be traced over its exec (kernel.yama.ptrace_scope is %d)",
		    d->facts.yama);
}

void doctor_check_paranoid(struct doctor *d)
{
	const int level = d->facts.paranoid;
	enum doctor_finding which;

	if (level == FACT_ABSENT)
		return doctor_find(d, FIND_PARANOID_UNREADABLE,
				   "kernel.perf_event_paranoid cannot be read");
	if (level >= 3)
		which = d->perf_err ? FIND_PARANOID_FORBIDDEN : FIND_PARANOID_OVERRIDDEN;
	else if (level == 2)
		which = FIND_PARANOID_USER;
	else if (level == 1)
		which = FIND_PARANOID_KERNEL;
	else if (level == 0)
		which = FIND_PARANOID_CPUS;
	else
		which = FIND_PARANOID_EVERYTHING;
	doctor_find(d, which, "kernel.perf_event_paranoid is %d", level);
}

void doctor_check_capabilities(struct doctor *d)
{
	const uint64_t wanted = 1ULL << CAP_PERFMON | 1ULL << CAP_SYS_ADMIN;
	const uint64_t effective = d->facts.cap_effective & wanted;
	const uint64_t permitted = d->facts.cap_permitted & wanted;
	const bool perfmon = (effective ? effective : permitted) >> CAP_PERFMON & 1;
	const char *const name = perfmon ? "CAP_PERFMON" : "CAP_SYS_ADMIN";

	if (!d->facts.have_caps)
		return doctor_find(d, FIND_CAPS_UNREADABLE, "/proc/self/status cannot be read");
	if (!effective && permitted)
		return doctor_find(d, FIND_CAPS_INACTIVE, "%s is permitted, but not effective",
				   name);
	if (!effective)
		return doctor_find(d, FIND_CAPS_NONE, "neither CAP_PERFMON nor CAP_SYS_ADMIN");
	/* Level 1 and below let everybody count the kernel: no proof either way. */
	if (d->facts.paranoid >= 2 && d->perf_err == 0 && !d->kernel_mode)
		return doctor_find(d, FIND_CAPS_NAMESPACE,
				   "%s is effective, but kernel mode may not be counted", name);
	doctor_find(d, perfmon ? FIND_CAPS_PERFMON : FIND_CAPS_ADMIN, "%s is effective", name);
}

void doctor_check_seccomp(struct doctor *d)
{
	if (d->facts.seccomp == FACT_ABSENT)
		return doctor_find(d, FIND_SECCOMP_UNREADABLE, "/proc/self/status does not tell");
	if (d->facts.seccomp == 0)
		return doctor_find(d, FIND_SECCOMP_NONE, "no seccomp filter");
	if (d->perf_err == 0)
		return doctor_find(d, FIND_SECCOMP_PASSES,
				   "a seccomp filter is in place, and perf_event_open passes");
	/* EACCES with a high paranoid level is the kernel's own answer. */
	if (d->perf_err == -EACCES && d->facts.paranoid >= 3)
		return doctor_find(d, FIND_SECCOMP_PASSES,
				   "a seccomp filter is in place; perf_event_paranoid refuses first");
	doctor_find(d, FIND_SECCOMP_REFUSES, "a seccomp filter is in place; perf_event_open: %s",
		    strerror(-d->perf_err));
}

static void rdpmc_withheld(struct doctor *d, const struct tare_rdpmc_answer *a)
{
	const bool arm = d->report->cpu.arch == TARE_ARCH_ARM64;

	if (arm && d->facts.user_access == FACT_ABSENT)
		return doctor_find(d, FIND_RDPMC_ARM_OLD,
				   "there is no kernel.perf_user_access on this kernel");
	if (arm && d->facts.user_access == 0)
		return doctor_find(d, FIND_RDPMC_ARM_OFF, "kernel.perf_user_access is 0");
	if (!arm && d->facts.rdpmc == 0)
		return doctor_find(d, FIND_RDPMC_OFF, "the PMU's rdpmc file is 0");
	doctor_find(d, FIND_RDPMC_NOT_GIVEN, "cap_user_rdpmc is %d and index %u on the event's page",
		    a->capable, a->index);
}

void doctor_check_rdpmc(struct doctor *d)
{
	const struct tare_encoding e = doctor_generic(PERF_COUNT_HW_INSTRUCTIONS);
	struct tare_rdpmc_answer a = { 0 };

	if (!doctor_has_pmu(d))
		return doctor_find(d, FIND_RDPMC_NO_PMU, "not tried: no hardware counters");
	const int err = d->probes->rdpmc(d->probes->arg, &e, &a);
	if (err == -EFAULT)
		return doctor_find(d, FIND_RDPMC_TRAPS, "the read was offered (index %u), and trapped",
				   a.index);
	if (err)
		return doctor_find(d, FIND_RDPMC_ERROR, "could not be tried: %s", strerror(-err));
	/* arm64: with perf_user_access=0 the page still says capable; the index
	 * is what decides. */
	if (!a.capable || !a.index)
		return rdpmc_withheld(d, &a);
	if (a.before > a.kernel || a.kernel > a.after)
		return doctor_find(d, FIND_RDPMC_WRONG,
				   "in user space %llu, by read(2) %llu, in user space %llu",
				   (unsigned long long)a.before, (unsigned long long)a.kernel,
				   (unsigned long long)a.after);
	if (d->facts.rdpmc == 2)
		return doctor_find(d, FIND_RDPMC_ALWAYS,
				   "works, and agrees with read(2); the PMU's rdpmc file is 2");
	doctor_find(d, FIND_RDPMC_WORKS, "works, and agrees with read(2)");
}
